// Whether the histories of registers that a drill kept (client/drill_history.h) are linearizable: `histories FILE...`.
// Exit code 0: they are; 1: one is not, or that could not be told; 2: a file cannot be read.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const timeout = 5 * time.Minute

type input struct {
	key  int64
	kind string
	a, b int64
}

// value: what was read, or 1 when it was changed
type output struct {
	isKnown bool
	value   int64
}

var model = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[int64][]porcupine.Operation{}
		for _, operation := range history {
			key := operation.Input.(input).key
			byKey[key] = append(byKey[key], operation)
		}
		parts := [][]porcupine.Operation{}
		for _, part := range byKey {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() interface{} { return int64(0) },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		now, i, o := state.(int64), in.(input), out.(output)
		switch i.kind {
		case "read":
			return o.value == now, now
		case "write":
			return true, i.a
		}
		// a register that nobody has written has no row to change
		if i.a == now && now != 0 {
			return !o.isKnown || o.value == 1, i.b
		}
		return !o.isKnown || o.value == 0, now
	},
}

func read(path string) ([]porcupine.Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	history := []porcupine.Operation{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "R ") {
			continue
		}
		var client int
		var called, returned, value int64
		var in input
		_, err := fmt.Sscanf(lines.Text(), "R %d %d %d %d %s %d %d %d", &client, &called, &returned, &in.key, &in.kind, &in.a, &in.b, &value)
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, lines.Text(), err)
		}
		isKnown := returned >= 0
		if !isKnown {
			if in.kind == "read" {
				continue
			}
			returned = math.MaxInt64 // at any time later, or never
		}
		history = append(history, porcupine.Operation{ClientId: client, Input: in, Call: called, Output: output{isKnown, value}, Return: returned})
	}
	return history, lines.Err()
}

func main() {
	for _, path := range os.Args[1:] {
		history, err := read(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		result := porcupine.CheckOperationsTimeout(model, history, timeout)
		fmt.Printf("%s: %d operations on %d registers: %s\n", path, len(history), len(model.Partition(history)), result)
		if result != porcupine.Ok {
			os.Exit(1)
		}
	}
}
