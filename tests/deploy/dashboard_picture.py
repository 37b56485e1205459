"""Draws a Grafana dashboard of deploy/grafana as SVG, from what a Prometheus answers: for docs, where no Grafana is at hand.

Lines for every panel over time, the last value for those of one number, a table of states for timelines; one colour per series, at most
SERIES of them with their names below.
"""
import html
import math
import re

WIDTH, ROW = 1200, 30  # of the picture, of one unit of height of Grafana's grid of 24 columns
COLOURS = ["#3366cc", "#dc7f1c", "#109618", "#990099", "#0099c6", "#dd4477", "#66aa00", "#b82e2e"]
SERIES = len(COLOURS)
TEXT, SMALL, LEGEND = 13, 11, 14


def shown(value, unit):
    if not math.isfinite(value):
        return "–"
    if unit == "percentunit":
        return f"{100 * value:.3g} %"
    if unit in ("bytes", "Bps"):
        names = ["B", "KB", "MB", "GB", "TB"]
        power = min(int(math.log(max(abs(value), 1), 1024)), len(names) - 1)
        return f"{value / 1024 ** power:.3g} {names[power]}{'/s' if unit == 'Bps' else ''}"
    if unit == "s":
        for size, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if abs(value) >= size or size == 1e-6:
                return f"{value / size:.3g} {name}" if value else "0 s"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}{' /s' if unit == 'ops' else ''}"


class Drawing:
    def __init__(self, height):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" font-family="sans-serif">',
                      f'<rect width="{WIDTH}" height="{height}" fill="#f4f5f5"/>']

    def rect(self, x, y, width, height, **more):
        self.add("rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", **more)

    def add(self, tag, **attributes):
        self.parts.append(f"<{tag} " + " ".join(f'{name.replace("_", "-")}="{html.escape(str(value))}"' for name, value in attributes.items()) + "/>")

    def text(self, x, y, text, size=TEXT, anchor="start", colour="#222", weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}">{html.escape(text)}</text>')

    def finish(self):
        return "\n".join([*self.parts, "</svg>", ""])


def name_of(target, labels):
    name = target["legendFormat"]
    for label, value in labels.items():
        name = name.replace("{{" + label + "}}", value)
    return re.sub(r"\{\{.*?\}\}", "", name) or "value"  # a label that is not there is empty


def draw_lines(drawing, series, unit, box):
    """series: [(name, [(second, value)])], at most SERIES of them are named."""
    x, y, width, height = box
    points = [point for _, line in series for point in line]
    first, last = min(p[0] for p in points), max(p[0] for p in points)
    least, most = min(0, *(p[1] for p in points)), max(p[1] for p in points)
    most = most if most > least else least + 1
    legend = LEGEND * min(len(series), SERIES)
    left, bottom = x + 56, y + height - legend - 8
    span_x, span_y = width - 66, bottom - y - 6
    for part in (0, 0.5, 1):
        at = bottom - span_y * part
        drawing.add("line", x1=f"{left:.1f}", x2=f"{left + span_x:.1f}", y1=f"{at:.1f}", y2=f"{at:.1f}", stroke="#ddd")
        drawing.text(left - 5, at + 4, shown(least + (most - least) * part, unit), SMALL, "end", "#666")
    for i, (name, line) in enumerate(series):
        colour = COLOURS[i % SERIES]
        path = " ".join(f"{left + span_x * (at - first) / max(last - first, 1):.1f},{bottom - span_y * (value - least) / (most - least):.1f}"
                        for at, value in line)
        drawing.add("polyline", points=path, fill="none", stroke=colour, stroke_width=1.4)
        if i < SERIES:
            row = bottom + 14 + LEGEND * i
            drawing.rect(left, row - 8, 9, 9, fill=colour)
            drawing.text(left + 14, row, f"{name}: {shown(line[-1][1], unit)}", SMALL, colour="#444")


def draw_states(drawing, series, box):
    x, y, width, height = box
    row_height = min(20, (height - 4) / len(series))
    names = 0.34 * width
    for i, (name, line) in enumerate(series):
        top = y + row_height * i
        drawing.text(x + names - 6, top + row_height / 2 + 4, name, SMALL, "end", "#444")
        span = (width - names - 10) / len(line)
        for k, (_, value) in enumerate(line):
            drawing.rect(x + names + span * k, top + 2, span + 0.5, row_height - 4, fill="#37872d" if value else "#d9d9d9")


def draw_numbers(drawing, series, unit, box):
    x, y, width, height = box
    each = width / len(series)
    for i, (name, line) in enumerate(series):
        middle = x + each * (i + 0.5)
        drawing.text(middle, y + height / 2 + 2, shown(line[-1][1], unit), min(22, int(each / 4)), "middle", "#37872d", "bold")
        drawing.text(middle, y + height / 2 + 20, name, SMALL, "middle", "#666")


def draw_panel(drawing, panel, series, y):
    grid = panel["gridPos"]
    column = (WIDTH - 10) / 24
    x, width, height = 5 + grid["x"] * column, grid["w"] * column, grid["h"] * ROW
    if panel["type"] == "row":
        drawing.text(x + 6, y + 20, panel["title"], 15, weight="bold")
        return
    drawing.rect(x + 3, y + 3, width - 6, height - 6, fill="white", stroke="#ddd", rx=3)
    room = int((width - 20) / (0.62 * TEXT))
    title = panel["title"] if len(panel["title"]) <= room else panel["title"][:room - 1] + "…"
    drawing.text(x + 12, y + 20, title, weight="bold")
    box = (x + 8, y + 28, width - 16, height - 34)
    unit = panel["fieldConfig"]["defaults"].get("unit")
    if not series:
        drawing.text(x + width / 2, y + height / 2, "no data", anchor="middle", colour="#888")
    elif panel["type"] in ("stat", "gauge", "bargauge"):
        draw_numbers(drawing, series, unit, box)
    elif panel["type"] == "state-timeline":
        draw_states(drawing, series, box)
    else:
        draw_lines(drawing, series, unit, box)


def picture(dashboard, ask_range):
    """SVG. ask_range(text of an expression): [(labels, [(second, value)])], the dashboard's variables put in by it."""
    panels = dashboard["panels"]
    height = ROW * max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels) + 46
    drawing = Drawing(height)
    drawing.text(12, 28, dashboard["title"], 20, weight="bold")
    for panel in panels:
        series = []
        for target in panel.get("targets", []):
            for labels, line in ask_range(target["expr"]):
                line = [(at, value) for at, value in line if math.isfinite(value)]
                if line:
                    series.append((name_of(target, labels), line))
        draw_panel(drawing, panel, series, 40 + ROW * panel["gridPos"]["y"])
    return drawing.finish()
