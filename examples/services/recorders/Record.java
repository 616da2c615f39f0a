// Drives Redis with four clients and writes what they saw: java Record.java PORT > log.jsonl
import java.io.*;
import java.net.Socket;
import java.util.Random;

class Record {
    static final long EPOCH = System.currentTimeMillis() * 1_000_000L - System.nanoTime();

    static Socket connect(String port) throws IOException {
        Socket socket = new Socket("127.0.0.1", Integer.parseInt(port));
        socket.setSoTimeout(500);
        return socket;
    }

    static void client(int process, String port) throws IOException {
        Random dice = new Random(process);
        Socket socket = connect(port);
        for (int number = 0; number < 300; number++) {
            String key = "" + "abc".charAt(dice.nextInt(3)), value = dice.nextBoolean() ? process + "-" + number : null;
            String request = value == null ? "GET " + key : "SET " + key + " " + value;
            String op = value == null ? "get\"" : "set\",\"arg\":\"" + value + "\"", end = "}";
            long call = EPOCH + System.nanoTime(); // right before the request is sent, by a clock that does not jump
            try {
                socket.getOutputStream().write((request + "\r\n").getBytes());
                BufferedReader answers = new BufferedReader(new InputStreamReader(socket.getInputStream()));
                String answer = answers.readLine(), result = "null";
                if (answer != null && answer.startsWith("$") && !answer.equals("$-1")) result = "\"" + (answer = answers.readLine()) + "\"";
                if (answer == null || answer.startsWith("-")) throw new IOException("no answer");
                end = ",\"result\":" + result + ",\"return\":" + (EPOCH + System.nanoTime()) + "}"; // right after the answer came
            } catch (IOException unknown) { // sent, not answered: no return, nobody knows
                socket = connect(port);
            }
            System.out.println("{\"process\":" + process + ",\"key\":\"" + key + "\",\"op\":\"" + op + ",\"call\":" + call + end);
        }
    }

    public static void main(String[] port) {
        System.out.println("{\"seriatim\":1,\"spec\":\"redis\",\"unit\":\"ns\",\"since\":\"unix\"}");
        for (int process = 0; process < 4; process++) {
            int number = process;
            new Thread(() -> { try { client(number, port[0]); } catch (IOException lost) { throw new UncheckedIOException(lost); } }).start();
        }
    }
}
