package seriatim;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Tells whether a recorded history is linearizable, by asking the command {@code seriatim}: the one that is
 * given, else the one that the environment variable {@code SERIATIM} names, else the one on the {@code PATH}.
 *
 * <pre>{@code
 * Report report = new Seriatim().spec("queue").check(Path.of("run.jsonl"));
 * if (report.verdict() != Verdict.LINEARIZABLE) throw new AssertionError(report.text());
 * }</pre>
 *
 * What the command cannot read is an {@link IllegalArgumentException} with its message; a command that fails, or
 * whose exit code and report differ, is an {@link IllegalStateException}. Neither ever is a verdict.
 */
public final class Seriatim {
    /** Whether a history is linearizable. */
    public enum Verdict { LINEARIZABLE, VIOLATION, UNKNOWN }

    /** What was found out: the verdict, the JSON report, and the report for people, in which a violation is drawn. */
    public record Report(Verdict verdict, String json, String text) {}

    private final String command;
    private final List<String> arguments;
    private final Duration patience;

    /** Asks the command that the environment names. */
    public Seriatim() {
        this(System.getenv().getOrDefault("SERIATIM", "seriatim"));
    }

    /** Asks this command. */
    public Seriatim(String command) {
        this(command, List.of(), Duration.ofDays(1));
    }

    private Seriatim(String command, List<String> arguments, Duration patience) {
        this.command = command;
        this.arguments = arguments;
        this.patience = patience;
    }

    /** The specification: {@code queue}, {@code cas-register(init=0)}, a file {@code FILE.seri}. */
    public Seriatim spec(String name) {
        return with("--spec", name);
    }

    /** The time after which the answer is unknown. The command is killed if it takes much longer. */
    public Seriatim time(Duration limit) {
        // More than a hundred years is no limit, and less than all numbers can hold.
        Duration bounded = limit.compareTo(LONGEST) > 0 ? LONGEST : limit;
        Seriatim limited = with("--time=" + bounded.toMillis() + "ms");
        return new Seriatim(command, limited.arguments, bounded.plusSeconds(30));
    }

    private static final Duration LONGEST = Duration.ofDays(36_500);

    /** Further arguments of {@code seriatim check}. */
    public Seriatim with(String... more) {
        List<String> all = new ArrayList<>(arguments);
        all.addAll(List.of(more));
        return new Seriatim(command, List.copyOf(all), patience);
    }

    /** Checks the history in a file, in any format that the command reads. */
    public Report check(Path file) {
        // A lone - would be the standard input, which is empty here.
        return ask(file.toString().equals("-") ? "./-" : file.toString(), new byte[0]);
    }

    /** Checks the text of a history. */
    public Report check(String history) {
        return ask("-", encoded(history));
    }

    /** A text in UTF-8. One half of a pair of characters has no form there: written as a question mark, it would be as any other. */
    private static byte[] encoded(String text) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(bytes.array(), bytes.limit());
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException("expected text that UTF-8 can write, found half of a surrogate pair", error);
        }
    }

    private Report ask(String file, byte[] input) {
        Ran told = run(file, input, List.of("--json"));
        Matcher found = VERDICT.matcher(told.out);
        Verdict verdict = verdictOf(told);
        if (!found.matches() || !found.group(1).equalsIgnoreCase(verdict.name())) {
            throw new IllegalStateException("seriatim ends with " + told.code + ", expected one report and found: " + told.out);
        }
        Ran drawn = run(file, input, List.of("--color", "never"));
        Verdict again = verdictOf(drawn);
        if (again != verdict && again != Verdict.UNKNOWN) {
            throw new IllegalStateException("seriatim said " + verdict + " first and then: " + drawn.out);
        }
        // If a limit was reached while it was drawn, what was decided stays decided.
        return new Report(verdict, told.out.strip(), again == verdict ? drawn.out : told.out);
    }

    /** One line: the report on one history. In texts of the report quotation marks are escaped. */
    private static final Pattern VERDICT = Pattern.compile("\\{[^\\n]*?\"verdict\":\"([a-z]+)\"[^\\n]*}\\s*");

    private static Verdict verdictOf(Ran ran) {
        return switch (ran.code) {
            case 0 -> Verdict.LINEARIZABLE;
            case 1 -> Verdict.VIOLATION;
            case 2 -> throw new IllegalArgumentException(ran.errors.strip().replaceFirst("^error: ", ""));
            case 3 -> Verdict.UNKNOWN;
            default -> throw new IllegalStateException("seriatim ended with " + ran.code + ": " + ran.errors.strip());
        };
    }

    private record Ran(int code, String out, String errors) {}

    private Ran run(String file, byte[] input, List<String> output) {
        List<String> words = new ArrayList<>(List.of(command, "check"));
        words.addAll(arguments);
        words.addAll(output);
        words.addAll(List.of("--", file));
        Process process;
        try {
            process = new ProcessBuilder(words).start();
        } catch (IOException error) {
            String hint = " (install it with `cargo install --path crates/seriatim` in a clone of Seriatim, or name it in SERIATIM)";
            throw new IllegalStateException("the command seriatim cannot be started: " + error.getMessage() + hint, error);
        }
        try {
            // All three at once, on threads of their own: a pipe that nobody empties would stop the command, and the
            // common pool may have a single thread.
            CompletableFuture<String> out = CompletableFuture.supplyAsync(() -> all(process.getInputStream()), Seriatim::start);
            CompletableFuture<String> errors = CompletableFuture.supplyAsync(() -> all(process.getErrorStream()), Seriatim::start);
            CompletableFuture.runAsync(() -> give(process.getOutputStream(), input), Seriatim::start);
            if (!process.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
                throw new IllegalStateException("seriatim did not end within " + patience);
            }
            return new Ran(process.exitValue(), out.join(), errors.join());
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while seriatim was at work", interrupted);
        } finally {
            process.destroyForcibly();
        }
    }

    private static void start(Runnable task) {
        Thread thread = new Thread(task, "seriatim");
        thread.setDaemon(true);
        thread.start();
    }

    private static String all(InputStream stream) {
        try (stream) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static void give(OutputStream stream, byte[] input) {
        try (stream) {
            stream.write(input);
        } catch (IOException closed) {
            // The command has seen enough; its exit code says what it thinks.
        }
    }
}
