"""Runs inside the sandbox: listens on 127.0.0.1:3128, hands each connection to the proxy's socket, becomes the command.

It needs the standard library only, and nothing of this project: the file is copied into the sandbox.
"""

import os
import socket
import sys
import threading

ADDRESS = ("127.0.0.1", 3128)
DOOR = "/sakura/proxy.sock"
PIECE = 64 * 1024
CONNECTIONS = 32


def main() -> None:
    listener = socket.create_server(ADDRESS, backlog=128)
    if os.fork() == 0:
        if os.fork() == 0:  # a grandchild, so that the command never waits for it
            serve(listener)
        os._exit(0)
    os.wait()
    listener.close()
    os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606


def serve(listener: socket.socket) -> None:
    """Forward until the sandbox ends; the command's output must not be held open by this process."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    room = threading.BoundedSemaphore(CONNECTIONS)
    while True:
        room.acquire()
        client, _ = listener.accept()
        threading.Thread(target=forward, args=(client, room), daemon=True).start()


def forward(client: socket.socket, room: threading.BoundedSemaphore) -> None:
    with client, socket.socket(socket.AF_UNIX) as door:
        try:
            door.connect(DOOR)
            back = threading.Thread(target=pump, args=(door, client), daemon=True)
            back.start()
            pump(client, door)
            back.join()
        except OSError:
            return
        finally:
            room.release()


def pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(PIECE):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:  # one side went away: the other need not wait for it
        for side in (source, target):
            try:
                side.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue


if __name__ == "__main__":
    main()
