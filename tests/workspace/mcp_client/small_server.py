"""The wood server without the library, which takes seconds to import: its tools, by hand."""

import json
import os
import sys
from typing import Any, NoReturn

READS = {"rings", "pid", "environment", "look_and_fall"}


def end() -> NoReturn:
    sys.stderr.write("timber!\n")
    sys.stderr.flush()
    os._exit(3)


def result_of(tool: str, arguments: dict[str, Any]) -> str | None:
    """What a tool returns; None if the call does not end."""
    match tool:
        case "rings":
            return str(arguments["age"] * 2)
        case "pid":
            return str(os.getpid())
        case "environment":
            return " ".join(os.environ)
        case "saw":
            return json.dumps(arguments)
        case "wait":
            with open(arguments["pipe"], "w") as file:
                file.write("begun")
            return None
        case "look_and_fall":
            if not os.path.exists(arguments["mark"]):
                open(arguments["mark"], "w").close()
                end()
            return "looked"
        case _:
            end()


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "wood", "version": "1"},
            }
        case "tools/list":
            names = ("rings", "pid", "environment", "saw", "wait", "fall", "look_and_fall")
            return {
                "tools": [
                    {
                        "name": name,
                        "inputSchema": {"type": "object"},
                        "annotations": {"readOnlyHint": name in READS},
                    }
                    for name in names
                ]
            }
        case "tools/call":
            text = result_of(params["name"], params["arguments"])
            return None if text is None else {"content": [{"type": "text", "text": text}]}
        case _:
            return {}


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        method = message["method"]
        reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
        if method == "server/discover":
            reply["error"] = {"code": -32601, "message": "unknown"}
        elif (result := answer(method, message.get("params", {}))) is not None:
            reply["result"] = result
        else:
            continue
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
