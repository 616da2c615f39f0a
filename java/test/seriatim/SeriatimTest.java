package seriatim;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.Supplier;
import seriatim.Seriatim.Report;
import seriatim.Seriatim.Verdict;

/** Every history of the repository has the verdict and the report of the command; and what goes wrong is no verdict. */
public final class SeriatimTest {
    public static void main(String[] arguments) throws Exception {
        Path root = Path.of(arguments[0]);
        everyHistory(root);
        violationsAreDrawn();
        badInputIsRefused(root);
        aCommandThatMisbehavesGivesNoVerdict();
        System.out.println("all is well");
    }

    static void everyHistory(Path root) throws Exception {
        List<String> lines = Files.readAllLines(root.resolve("testdata/manifest.tsv"));
        for (String line : lines.subList(1, lines.size())) {
            String[] fields = line.split("\t");
            Path file = root.resolve("testdata").resolve(fields[0]);
            Seriatim asked = new Seriatim().spec(fields[1]).with("--threads", "1");
            Report report = asked.check(file);
            expect(report.verdict().name().equalsIgnoreCase(fields[2]), fields[0] + ": " + report.verdict());
            expect(timeless(report.json()).equals(timeless(told(fields[1], file))), fields[0] + ": " + report.json());
        }
        expect(lines.size() > 100, "only " + lines.size() + " histories");
    }

    /** What the command says by itself. */
    static String told(String spec, Path file) throws Exception {
        Process process = new ProcessBuilder(System.getenv("SERIATIM"), "check", "--json", "--threads", "1", "--spec",
                spec, file.toString()).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        return new String(process.getInputStream().readAllBytes(), "UTF-8").strip();
    }

    static String timeless(String json) {
        return json.replaceFirst("\"elapsed_seconds\":[^,]*,", "");
    }

    static final String OVERTAKEN = """
        {"process":"ann","op":"enqueue","arg":1,"call":0,"return":20}
        {"process":"ann","op":"enqueue","arg":2,"call":30,"return":60}
        {"process":"bob","op":"dequeue","result":2,"call":40,"return":80}
        """;

    static void violationsAreDrawn() {
        Report report = new Seriatim().spec("queue").check(OVERTAKEN);
        expect(report.verdict() == Verdict.VIOLATION, report.json());
        expect(report.text().contains("the front is 1"), report.text());
        for (Duration limit : List.of(Duration.ofHours(1), Duration.ofDays(1000), Duration.ofSeconds(Long.MAX_VALUE))) {
            Report patient = new Seriatim().spec("queue").time(limit).check(OVERTAKEN);
            expect(patient.verdict() == Verdict.VIOLATION, patient.json());
        }
    }

    static void badInputIsRefused(Path root) {
        refused(() -> new Seriatim().check("nonsense\n"), "<stdin>:1:");
        refused(() -> new Seriatim().check(Path.of("no/such/file")), "no/such/file");
        refused(() -> new Seriatim().check(Path.of("-")), "./-");
        refused(() -> new Seriatim().spec("quue").check(OVERTAKEN), "quue");
        refused(() -> new Seriatim().spec("queue").time(Duration.ofSeconds(-1)).check(OVERTAKEN), "-1000ms");
        // As question marks these two would be the same.
        String halves = """
            {"process":"ann","op":"enqueue","arg":"\ud800","call":0,"return":20}
            {"process":"bob","op":"dequeue","result":"\ud801","call":40,"return":80}
            """;
        refused(() -> new Seriatim().spec("queue").check(halves), "half of a surrogate pair");
    }

    static void refused(Supplier<Report> check, String message) {
        try {
            expect(false, "it was read: " + check.get());
        } catch (IllegalArgumentException refusal) {
            expect(refusal.getMessage().contains(message), refusal.getMessage());
        }
    }

    static void aCommandThatMisbehavesGivesNoVerdict() throws Exception {
        Path folder = Files.createTempDirectory("seriatim");
        Path liar = folder.resolve("liar");
        for (String script : List.of("exit 0", "exit 101", "kill -9 $$", "echo '{\"verdict\":\"violation\"}'",
                "echo '{\"verdict\":\"linearizable\"}'; exit 1",
                "echo '{\"verdict\":\"linearizable\"}'; echo '{\"verdict\":\"linearizable\"}'")) {
            Files.writeString(liar, "#!/bin/sh\n" + script + "\n");
            expect(liar.toFile().setExecutable(true), "a script can be run");
            try {
                expect(false, "a verdict: " + new Seriatim(liar.toString()).check(OVERTAKEN));
            } catch (IllegalStateException expected) {
                // As it should be.
            }
        }
        Files.writeString(liar, "#!/bin/sh\necho '{\"verdict\":\"unknown\"}'; exit 3\n");
        Report unknown = new Seriatim(liar.toString()).check(OVERTAKEN);
        expect(unknown.verdict() == Verdict.UNKNOWN, unknown.json());
        Files.writeString(liar, "#!/bin/sh\ncase \"$*\" in *--json*) echo '{\"verdict\":\"violation\"}'; exit 1;; esac; exit 3\n");
        Report decided = new Seriatim(liar.toString()).check(OVERTAKEN);
        expect(decided.verdict() == Verdict.VIOLATION && decided.text().contains("violation"), decided.text());
        try {
            new Seriatim("/no/such/command").check(OVERTAKEN);
            expect(false, "a verdict without a command");
        } catch (IllegalStateException expected) {
            // As it should be.
        }
    }

    static void expect(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }
}
