// A node's web page in jsdom: its script runs, asks the node by real HTTP, and fills the page.
// Usage: page_in_jsdom.cjs URL   Each line of standard input is JSON, {what, ...}; each is answered by one line of JSON:
//   {selector}: the texts of all elements that it finds; {tags}: how many elements of that name there are
"use strict";
const readline = require("readline");
const { JSDOM, VirtualConsole } = require("jsdom");

async function main(url) {
  const complaints = [];
  const messages = new VirtualConsole();
  messages.on("jsdomError", (error) => complaints.push(String(error)));
  messages.on("error", (error) => complaints.push(String(error)));
  const page = await JSDOM.fromURL(url, {
    runScripts: "dangerously", pretendToBeVisual: true, virtualConsole: messages,
    beforeParse(window) { window.fetch = (path, options) => fetch(new URL(path, url), options); },  // jsdom has none
  });
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line), document = page.window.document;
    const found = asked.selector ? [...document.querySelectorAll(asked.selector)].filter((one) => !one.closest("[hidden]")).map((one) => one.textContent)
      : document.getElementsByTagName(asked.tags).length;
    console.log(JSON.stringify({ found, complaints }));
  }
  process.exit(0);
}
main(process.argv[2]).catch((error) => { console.log(JSON.stringify({ complaints: [String(error)] })); process.exit(1); });
