"""Drives Redis with four clients and writes what they saw: python3 record.py PORT > log.jsonl"""
import json, random, socket, sys, threading, time

port, lock, lines = int(sys.argv[1]), threading.Lock(), []
print(json.dumps({"seriatim": 1, "spec": "redis", "unit": "ns", "since": "unix"}))

def ask(connection, *words):
    request = "*%d\r\n" % len(words) + "".join("$%d\r\n%s\r\n" % (len(w), w) for w in words)
    connection.sendall(request.encode())
    answer = connection.makefile("rb", 0)
    line = answer.readline().decode().strip()
    if not line:
        raise OSError("closed")
    if line[0] == "$":
        return None if line == "$-1" else answer.read(int(line[1:]) + 2)[:-2].decode()
    return line

def client(process):
    dice = random.Random(process)
    connection = socket.create_connection(("127.0.0.1", port), timeout=0.5)
    for number in range(300):
        key, value = dice.choice("abc"), f"{process}-{number}"
        is_set = dice.random() < 0.5
        entry = {"process": process, "op": "set" if is_set else "get", "key": key}
        if is_set:
            entry["arg"] = value
        entry["call"] = time.time_ns()             # right before the request is sent
        try:
            result = ask(connection, "SET", key, value) if is_set else ask(connection, "GET", key)
            entry["return"] = time.time_ns()       # right after the answer came
            if not is_set:
                entry["result"] = result
        except OSError:                            # sent, not answered: no return, nobody knows
            connection = socket.create_connection(("127.0.0.1", port), timeout=0.5)
        with lock:
            lines.append(json.dumps(entry))

threads = [threading.Thread(target=client, args=(process,)) for process in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print("\n".join(lines))
