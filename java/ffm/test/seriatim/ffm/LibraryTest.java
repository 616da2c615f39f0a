package seriatim.ffm;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import seriatim.ffm.Library.Options;
import seriatim.ffm.Library.Report;
import seriatim.ffm.Library.Verdict;

/** Every history of the repository has the report of the command; models of Java that misbehave have no verdict. */
public final class LibraryTest {
    private static Library library;

    public static void main(String[] arguments) throws Exception {
        Path root = Path.of(arguments[0]);
        library = new Library(Path.of(arguments[1]));
        everyHistory(root);
        badInputIsRefused();
        modelsAreAsked();
        modelsThatMisbehaveHaveNoVerdict();
        threadsMayAskAtTheSameTime();
        System.out.println("all is well");
    }

    static void everyHistory(Path root) throws Exception {
        List<String> lines = Files.readAllLines(root.resolve("testdata/manifest.tsv"));
        for (String line : lines.subList(1, lines.size())) {
            String[] fields = line.split("\t");
            Path file = root.resolve("testdata").resolve(fields[0]);
            Report report = library.check(Files.readAllBytes(file), new Options(fields[1], Duration.ZERO, 1));
            expect(report.verdict().name().equalsIgnoreCase(fields[2]), fields[0] + ": " + report.verdict());
            same(report, fields[1], file);
        }
        expect(lines.size() > 100, "only " + lines.size() + " histories");
        try (Stream<Path> examples = Files.list(root.resolve("examples/histories"))) {
            for (Path file : examples.filter(path -> !path.toString().endsWith(".md")).toList()) {
                same(library.check(Files.readAllBytes(file), new Options(null, Duration.ZERO, 1)), null, file);
            }
        }
    }

    static void same(Report report, String spec, Path file) throws Exception {
        List<String> words = new ArrayList<>(List.of(System.getenv("SERIATIM"), "check", "--json", "--threads", "1"));
        words.addAll(spec == null ? List.of() : List.of("--spec", spec));
        words.add(file.toString());
        Process process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String told = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
        expect(comparable(report.json()).equals(comparable(told)), file + ": " + report.json() + "\n" + told);
    }

    /** A report less the time that it took and what the history is called. */
    static String comparable(String json) {
        return json.replaceFirst("\"elapsed_seconds\":[^,]*,", "").replaceFirst("\"source\":\"[^\"]*\",", "");
    }

    static void badInputIsRefused() {
        byte[] nonsense = "nonsense\n".getBytes(StandardCharsets.UTF_8);
        refused(() -> library.check(nonsense, Options.of(null)), "<memory>:1:");
        byte[] queue = "{\"process\":0,\"op\":\"dequeue\",\"result\":1,\"call\":1,\"return\":2}".getBytes(StandardCharsets.UTF_8);
        refused(() -> library.check(queue, Options.of("quue")), "quue");
        refused(() -> Options.of("queue\0").within(Duration.ZERO), "without zeros");
        refused(() -> Options.of("queue").within(Duration.ofMillis(-1)), "at least 0");
        expect(library.check(queue, Options.of("queue")).verdict() == Verdict.VIOLATION, "1 was never enqueued");
    }

    /** Tickets: an operation is the ticket that it took. */
    record Tickets(Function<Integer, Integer> next) implements Model<Integer, Integer> {
        @Override public Integer initial() {
            return 0;
        }

        @Override public List<Integer> step(Integer state, Integer ticket) {
            return state.equals(ticket) ? List.of(next.apply(state)) : List.of();
        }

        @Override public String describe(Integer ticket) {
            return "take() -> " + ticket;
        }
    }

    static List<Operation<Integer>> taken(int... tickets) {
        List<Operation<Integer>> all = new ArrayList<>();
        for (int ticket : tickets) {
            all.add(new Operation<>(0, 2L * all.size(), 2L * all.size() + 1, ticket));
        }
        return all;
    }

    static void modelsAreAsked() {
        Tickets tickets = new Tickets(state -> state + 1);
        expect(ask(tickets, taken(0, 1, 2)).verdict() == Verdict.LINEARIZABLE, "in order");
        Report report = ask(tickets, taken(0, 2, 1));
        expect(report.verdict() == Verdict.VIOLATION, "out of order");
        expect(report.text().contains("take() -> 2 is impossible in 1"), report.text());
        List<Operation<Integer>> open = new ArrayList<>(taken(1));
        open.add(new Operation<>(1, 0, Operation.PENDING, 0));
        expect(ask(tickets, open).verdict() == Verdict.LINEARIZABLE, "0 may have been taken first");
        List<Operation<Integer>> many = new ArrayList<>();
        for (int i = 0; i < 20_000; i++) {
            many.add(new Operation<>(i % 8, 100L * (i / 8) + i % 8, 100L * (i / 8) + 50, i / 8 * 8 + 7 - i % 8));
        }
        expect(ask(tickets, many).verdict() == Verdict.LINEARIZABLE, "eight at a time, in reverse");
        Options hurried = Options.of(null).within(Duration.ofMillis(50));
        Tickets slow = new Tickets(state -> {
            pause();
            return state + 1;
        });
        expect(library.check(slow, many, hurried).verdict() == Verdict.UNKNOWN, "20,000 steps take 20 s");
        Options atOnce = Options.of(null).within(Duration.ofNanos(1));
        expect(library.check(slow, many, atOnce).verdict() == Verdict.UNKNOWN, "a nanosecond is a limit");
        Options forever = Options.of(null).within(Duration.ofSeconds(Long.MAX_VALUE));
        expect(library.check(tickets, taken(0, 1), forever).verdict() == Verdict.LINEARIZABLE, "no limit");
    }

    static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    static Report ask(Tickets model, List<Operation<Integer>> history) {
        return library.check(model, history, Options.of(null));
    }

    static int deeper(int depth) {
        return depth + deeper(depth + 1);
    }

    static void modelsThatMisbehaveHaveNoVerdict() {
        thrown(new Tickets(state -> { throw new IllegalStateException("on purpose"); }), IllegalStateException.class);
        thrown(new Tickets(state -> deeper(state)), StackOverflowError.class);
        thrown(new Tickets(state -> null), NullPointerException.class);
        int[] count = {0};
        Tickets lying = new Tickets(state -> ++count[0]);
        refused(() -> ask(lying, taken(0, 1, 2)), "is no function");
        refused(() -> ask(new Tickets(state -> state + 1), List.of(new Operation<>(0, 5, 1, 0))), "Tickets:1:");
        // A state that changes under our hands, and one that only equals itself.
        Model<List<Integer>, Integer> changing = new Model<>() {
            @Override public List<Integer> initial() {
                return new ArrayList<>();
            }

            @Override public List<List<Integer>> step(List<Integer> state, Integer ticket) {
                state.add(ticket);
                return List.of(state);
            }
        };
        refused(() -> library.check(changing, taken(0, 1), Options.of(null)), "changed the state");
        record Count(int[] tickets) {}
        record Counts(Count inner) {}
        Model<Counts, Integer> inside = new Model<>() {
            @Override public Counts initial() {
                return new Counts(new Count(new int[1]));
            }

            @Override public List<Counts> step(Counts state, Integer ticket) {
                state.inner().tickets()[0]++;
                return List.of(state);
            }
        };
        refused(() -> library.check(inside, taken(0, 1), Options.of(null)), "changed the state");
        Model<Object, Integer> nameless = new Model<>() {
            @Override public Object initial() {
                return new Object();
            }

            @Override public List<Object> step(Object state, Integer ticket) {
                return List.of(state);
            }
        };
        refused(() -> library.check(nameless, taken(0), Options.of(null)), "has no equals");
        // A model may ask about another history while it is asked.
        Tickets nested = new Tickets(state -> ask(new Tickets(one -> one + 1), taken(0)).verdict().ordinal() + state + 1);
        expect(ask(nested, taken(0, 1)).verdict() == Verdict.LINEARIZABLE, "nested");
        // One that asks about itself without end is told so, before the stack ends Java.
        Tickets[] endless = {null};
        endless[0] = new Tickets(state -> ask(endless[0], taken(0)).verdict().ordinal() + state + 1);
        refused(() -> ask(endless[0], taken(0, 1)), "deep");
    }

    static void thrown(Tickets model, Class<? extends Throwable> kind) {
        try {
            expect(false, "a verdict: " + ask(model, taken(0, 1)));
        } catch (RuntimeException | StackOverflowError found) {
            expect(kind.isInstance(found), "expected " + kind + ", found " + found);
        }
    }

    static void refused(Runnable check, String message) {
        try {
            check.run();
        } catch (IllegalArgumentException refusal) {
            expect(refusal.getMessage().contains(message), refusal.getMessage());
            return;
        }
        expect(false, "it was answered, and not refused: " + message);
    }

    static void threadsMayAskAtTheSameTime() throws InterruptedException {
        List<Throwable> problems = java.util.Collections.synchronizedList(new ArrayList<>());
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            int[] tickets = i % 2 == 0 ? new int[] {0, 1, 2} : new int[] {0, 2, 1};
            Verdict expected = i % 2 == 0 ? Verdict.LINEARIZABLE : Verdict.VIOLATION;
            threads.add(Thread.ofPlatform().start(() -> {
                try {
                    for (int round = 0; round < 50; round++) {
                        expect(ask(new Tickets(state -> state + 1), taken(tickets)).verdict() == expected, "beside others");
                    }
                } catch (Throwable problem) {
                    problems.add(problem);
                }
            }));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        expect(problems.isEmpty(), problems.toString());
    }

    static void expect(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }
}
