// Drives Redis with four clients and writes what they saw: java Record.java PORT > log.jsonl
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;

class Record {
    static String ask(Socket socket, String... words) throws IOException {
        StringBuilder request = new StringBuilder("*" + words.length + "\r\n");
        for (String word : words) request.append("$" + word.length() + "\r\n" + word + "\r\n");
        socket.getOutputStream().write(request.toString().getBytes(StandardCharsets.UTF_8));
        InputStream answers = socket.getInputStream();
        StringBuilder line = new StringBuilder();
        for (int c = answers.read(); c != '\n'; c = answers.read()) {
            if (c < 0) throw new IOException("closed");
            line.append((char) c);
        }
        String head = line.toString().trim();
        if (!head.startsWith("$") || head.equals("$-1")) return null;
        int length = Integer.parseInt(head.substring(1));
        return new String(answers.readNBytes(length + 2), 0, length, StandardCharsets.UTF_8);
    }

    static long now() { // nanoseconds since 1970, from a clock that does not jump
        return EPOCH + System.nanoTime();
    }
    static final long EPOCH = System.currentTimeMillis() * 1_000_000L - System.nanoTime();

    static void client(int process, int port, Queue<String> lines) throws IOException {
        Random dice = new Random(process);
        Socket socket = new Socket("127.0.0.1", port);
        socket.setSoTimeout(500);
        for (int number = 0; number < 300; number++) {
            String key = "abc".substring(dice.nextInt(3)).substring(0, 1), value = process + "-" + number;
            boolean isSet = dice.nextBoolean();
            String entry = "{\"process\":" + process + ",\"op\":\"" + (isSet ? "set" : "get") + "\",\"key\":\"" + key + "\"";
            if (isSet) entry += ",\"arg\":\"" + value + "\"";
            entry += ",\"call\":" + now(); // right before the request is sent
            try {
                String result = isSet ? ask(socket, "SET", key, value) : ask(socket, "GET", key);
                entry += ",\"return\":" + now(); // right after the answer came
                if (!isSet) entry += ",\"result\":" + (result == null ? "null" : "\"" + result + "\"");
            } catch (IOException unknown) { // sent, not answered: no return, nobody knows
                socket = new Socket("127.0.0.1", port);
                socket.setSoTimeout(500);
            }
            lines.add(entry + "}");
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("{\"seriatim\":1,\"spec\":\"redis\",\"unit\":\"ns\",\"since\":\"unix\"}");
        Queue<String> lines = new ConcurrentLinkedQueue<>();
        ExecutorService clients = Executors.newFixedThreadPool(4);
        List<Future<?>> running = new ArrayList<>();
        for (int process = 0; process < 4; process++) {
            int number = process;
            running.add(clients.submit(() -> { client(number, Integer.parseInt(arguments[0]), lines); return null; }));
        }
        for (Future<?> one : running) one.get();
        clients.shutdown();
        lines.forEach(System.out::println);
    }
}
