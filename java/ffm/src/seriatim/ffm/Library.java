package seriatim.ffm;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemoryLayout.PathElement;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * Tells whether a history is linearizable inside this process, by the library {@code seriatim_ffi}: Java 22 or newer,
 * its foreign functions, no JNI and no other program.
 *
 * <pre>{@code
 * Library seriatim = new Library(Path.of("target/release/libseriatim_ffi.so"));
 * Report report = seriatim.check(Files.readAllBytes(log), Options.of("queue"));
 * if (report.verdict() != Verdict.LINEARIZABLE) throw new AssertionError(report.text());
 * }</pre>
 *
 * Input that makes no sense is an {@link IllegalArgumentException} with the words of the command; it never is a
 * verdict. Several threads may ask at the same time. Run Java with {@code --enable-native-access=ALL-UNNAMED}.
 */
public final class Library {
    /** Whether a history is linearizable. */
    public enum Verdict { LINEARIZABLE, VIOLATION, UNKNOWN }

    /** What was found out: the verdict, the JSON report, and the report for people, in which a violation is drawn. */
    public record Report(Verdict verdict, String json, String text) {}

    /**
     * How to check. The specification is one of {@code seriatim specs} or a file {@code FILE.seri}; null is what the
     * history names. A time of zero is no limit, and so are no threads: one for each core.
     */
    public record Options(String spec, Duration time, int threads) {
        public Options {
            if (spec != null && spec.indexOf(0) >= 0) {
                throw new IllegalArgumentException("spec: expected a text without zeros, found " + spec);
            }
            if (time.isNegative() || threads < 0) {
                throw new IllegalArgumentException("expected limits of at least 0, found " + time + " and " + threads + " threads");
            }
        }

        /** The usual ones under a specification. */
        public static Options of(String spec) {
            return new Options(spec, Duration.ZERO, 0);
        }

        /** After this time the verdict is unknown. */
        public Options within(Duration time) {
            return new Options(spec, time, threads);
        }
    }

    private static final MemoryLayout OPTIONS = MemoryLayout.structLayout(
            ADDRESS.withName("spec"), ADDRESS.withName("seri"), ADDRESS.withName("source"),
            JAVA_LONG.withName("milliseconds"), JAVA_LONG.withName("memory"),
            JAVA_INT.withName("threads"), JAVA_INT.withName("flags"));
    private static final MemoryLayout MODEL = MemoryLayout.structLayout(
            ADDRESS.withName("context"), ADDRESS.withName("name"),
            JAVA_INT.withName("initial"), JAVA_INT.withName("operations"),
            ADDRESS.withName("step"), ADDRESS.withName("describe"), ADDRESS.withName("show"), ADDRESS.withName("parts"));
    private static final MemoryLayout OPERATION = MemoryLayout.structLayout(
            JAVA_LONG.withName("process"), JAVA_LONG.withName("call"), JAVA_LONG.withName("ret"),
            JAVA_INT.withName("operation"), MemoryLayout.paddingLayout(4));

    private static final FunctionDescriptor STEP =
            FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT, JAVA_INT, ADDRESS, JAVA_LONG);
    private static final FunctionDescriptor TELL = FunctionDescriptor.of(JAVA_LONG, ADDRESS, JAVA_INT, ADDRESS, JAVA_LONG);

    private static final int JSON = 0;
    private static final int TEXT = 1;
    private static final int ERROR = 2;

    private final MethodHandle check;
    private final MethodHandle checkModel;
    private final MethodHandle verdict;
    private final MethodHandle render;
    private final MethodHandle free;

    /** Loads the library, which stays loaded. */
    public Library(Path library) {
        SymbolLookup symbols = SymbolLookup.libraryLookup(library, Arena.global());
        check = function(symbols, "seriatim_check", FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
        checkModel = function(symbols, "seriatim_check_model",
                FunctionDescriptor.of(ADDRESS, ADDRESS, ADDRESS, JAVA_LONG, ADDRESS));
        verdict = function(symbols, "seriatim_verdict", FunctionDescriptor.of(JAVA_INT, ADDRESS));
        render = function(symbols, "seriatim_render", FunctionDescriptor.of(ADDRESS, ADDRESS, JAVA_INT, ADDRESS));
        free = function(symbols, "seriatim_free", FunctionDescriptor.ofVoid(ADDRESS));
    }

    private static MethodHandle function(SymbolLookup symbols, String name, FunctionDescriptor type) {
        return Linker.nativeLinker().downcallHandle(symbols.find(name).orElseThrow(), type);
    }

    /** Checks a history, in any format that the command reads. */
    public Report check(byte[] history, Options options) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment bytes = arena.allocateFrom(JAVA_BYTE, history);
            return report((MemorySegment) check.invokeExact(bytes, (long) history.length, told(arena, options)), arena);
        } catch (Throwable thrown) {
            throw unchecked(thrown);
        }
    }

    /**
     * Checks operations under a model of your own. If the model throws, so does this; if it contradicts itself, that is
     * an {@link IllegalArgumentException}.
     */
    public <S, O> Report check(Model<S, O> model, List<Operation<O>> history, Options options) {
        Session<S, O> session = new Session<>(model, history);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment asked = arena.allocate(MODEL);
            asked.set(ADDRESS, at(MODEL, "name"), arena.allocateFrom(model.getClass().getSimpleName()));
            asked.set(JAVA_INT, at(MODEL, "operations"), history.size());
            asked.set(ADDRESS, at(MODEL, "step"), callback(arena, session, "step", STEP));
            asked.set(ADDRESS, at(MODEL, "describe"), callback(arena, session, "describe", TELL));
            asked.set(ADDRESS, at(MODEL, "show"), callback(arena, session, "show", TELL));
            MemorySegment operations = operations(arena, history);
            MemorySegment made =
                    (MemorySegment) checkModel.invokeExact(asked, operations, (long) history.size(), told(arena, options));
            Report found = null;
            try {
                found = report(made, arena);
            } finally {
                session.rethrow();
            }
            return found;
        } catch (Throwable thrown) {
            throw unchecked(thrown);
        }
    }

    private static <O> MemorySegment operations(Arena arena, List<Operation<O>> history) {
        MemorySegment all = arena.allocate(OPERATION, history.size());
        for (int i = 0; i < history.size(); i++) {
            Operation<O> operation = history.get(i);
            MemorySegment one = all.asSlice(i * OPERATION.byteSize(), OPERATION);
            one.set(JAVA_LONG, at(OPERATION, "process"), operation.process());
            one.set(JAVA_LONG, at(OPERATION, "call"), operation.call());
            one.set(JAVA_LONG, at(OPERATION, "ret"), operation.ret());
            one.set(JAVA_INT, at(OPERATION, "operation"), i);
        }
        return all;
    }

    private static MemorySegment callback(Arena arena, Session<?, ?> session, String name, FunctionDescriptor type)
            throws ReflectiveOperationException {
        MethodType java = type.toMethodType();
        MethodHandle method = MethodHandles.lookup().findVirtual(Session.class, name, java).bindTo(session);
        return Linker.nativeLinker().upcallStub(method, type, arena);
    }

    private static MemorySegment told(Arena arena, Options options) {
        MemorySegment told = arena.allocate(OPTIONS);
        if (options.spec() != null) {
            told.set(ADDRESS, at(OPTIONS, "spec"), arena.allocateFrom(options.spec()));
        }
        told.set(JAVA_LONG, at(OPTIONS, "milliseconds"), milliseconds(options.time()));
        told.set(JAVA_INT, at(OPTIONS, "threads"), options.threads());
        return told;
    }

    /** Rounded up: none at all would be no limit. More than a hundred years is none either, and less than all numbers can hold. */
    private static long milliseconds(Duration time) {
        Duration longest = Duration.ofDays(36_500);
        return time.compareTo(longest) > 0 ? 0 : time.plusNanos(999_999).toMillis();
    }

    private static long at(MemoryLayout layout, String field) {
        return layout.byteOffset(PathElement.groupElement(field));
    }

    /** Asks a report for all that it has, and frees it. */
    private Report report(MemorySegment made, Arena arena) throws Throwable {
        try {
            int code = (int) verdict.invokeExact(made);
            String json = rendered(made, JSON, arena);
            if (code == ERROR) {
                throw new IllegalArgumentException(json);
            }
            Verdict found = switch (code) {
                case 0 -> Verdict.LINEARIZABLE;
                case 1 -> Verdict.VIOLATION;
                default -> Verdict.UNKNOWN;
            };
            return new Report(found, json.strip(), rendered(made, TEXT, arena));
        } finally {
            free.invokeExact(made);
        }
    }

    private String rendered(MemorySegment made, int form, Arena arena) throws Throwable {
        MemorySegment length = arena.allocate(JAVA_LONG);
        MemorySegment text = (MemorySegment) render.invokeExact(made, form, length);
        byte[] bytes = text.reinterpret(length.get(JAVA_LONG, 0)).toArray(JAVA_BYTE);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Nothing that is called here declares a checked exception. */
    private static RuntimeException unchecked(Throwable thrown) {
        return switch (thrown) {
            case RuntimeException exception -> exception;
            case Error error -> throw error;
            default -> new IllegalStateException(thrown);
        };
    }
}
