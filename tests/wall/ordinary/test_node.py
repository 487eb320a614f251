"""Node and npm: threads, children, a server and a client, a project's own tests."""

import json

import pytest

from tests.wall.ordinary.conftest import Desk, needs

pytestmark = [pytest.mark.django_db, needs("node")]

PROGRAM = """
const { Worker } = require("node:worker_threads");
const { execFileSync, fork } = require("node:child_process");
const http = require("node:http");
const fs = require("node:fs/promises");

const inThread = (n) => new Promise((resolve, reject) => {
  const code = "const worker = require('node:worker_threads'); worker.parentPort.postMessage(worker.workerData ** 2)";
  new Worker(code, { eval: true, workerData: n }).once("message", resolve).once("error", reject);
});

const inChild = (n) => new Promise((resolve) => {
  const child = fork(__filename, ["child"]);
  child.once("message", resolve);
  child.send(n);
});

async function main() {
  console.log(...(await Promise.all([1, 2, 3, 4].map(inThread))), await inChild(21));
  console.log(execFileSync("echo", ["from a child"], { encoding: "utf8" }).trim());
  const server = http.createServer((request, response) => response.end(`${request.method} ${request.url}`));
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const answer = await fetch(`http://localhost:${server.address().port}/deep?x=1`);
  console.log(await answer.text());
  server.close();
  const watcher = fs.watch(".", { signal: AbortSignal.timeout(60000) });
  setTimeout(() => fs.writeFile("made.txt", "x"), 20);
  for await (const event of watcher) if (event.filename === "made.txt") break;
  console.log(Buffer.alloc(300 * 1024 * 1024, 1).length, require("node:crypto").randomUUID().length);
}

if (process.argv[2] === "child") {
  process.on("message", (n) => process.send(n * 2, () => process.exit()));
} else {
  main();
}
"""


def test_threads_children_a_server_and_a_client(desk: Desk) -> None:
    desk.write("program.js", PROGRAM)
    assert desk.runs("node program.js").split("\n") == [
        "1 4 9 16 42",
        "from a child",
        "GET /deep?x=1",
        "314572800 36",
    ]


@needs("npm")
def test_npm_test_runs_the_tests_of_a_project(desk: Desk) -> None:
    package = {"name": "demo", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}}
    tests = """
    import assert from "node:assert/strict";
    import { test } from "node:test";
    import { add } from "../index.js";
    test("adds", () => assert.equal(add(2, 3), 5));
    test("waits", async () => assert.equal(await Promise.resolve(1), 1));
    """
    desk.write("package.json", json.dumps(package))
    desk.write("index.js", "export const add = (a, b) => a + b;\n")
    desk.write("test/add.test.js", tests)
    printed = desk.runs("npm test")
    assert "pass 2" in printed
    desk.write("index.js", "export const add = (a, b) => a - b;\n")
    assert "fail 1" in desk.fails("npm test")
