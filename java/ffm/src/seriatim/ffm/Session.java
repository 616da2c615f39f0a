package seriatim.ffm;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.InaccessibleObjectException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Answers the library's questions about a model. Nothing may be thrown through the library, which would end Java: what
 * the model throws is kept, and thrown when the library is done. It does not ask a model again that failed.
 */
final class Session<S, O> {
    private static final long FAILED = -1;

    private final Model<S, O> model;
    private final List<Operation<O>> history;
    private final List<S> states = new ArrayList<>();
    private final List<Integer> looks = new ArrayList<>();
    private final Map<S, Integer> numbers = new HashMap<>();
    private Throwable thrown;

    Session(Model<S, O> model, List<Operation<O>> history) {
        this.model = model;
        this.history = history;
        number(model.initial());
    }

    /** Writes the numbers of the states after an operation, and returns how many there are. */
    long step(MemorySegment context, int state, int operation, MemorySegment next, long capacity) {
        try {
            S before = states.get(state);
            List<S> after = model.step(before, history.get(operation).operation());
            if (look(before) != looks.get(state)) {
                throw new IllegalArgumentException("the step changed the state that it was given: " + before);
            }
            int[] found = after.stream().mapToInt(this::number).toArray();
            if (found.length <= capacity) {
                MemorySegment.copy(found, 0, next.reinterpret(4 * capacity), JAVA_INT, 0, found.length);
            }
            return found.length;
        } catch (Throwable any) {
            thrown = any;
            return FAILED;
        }
    }

    long describe(MemorySegment context, int operation, MemorySegment text, long capacity) {
        try {
            return write(model.describe(history.get(operation).operation()), text, capacity);
        } catch (Throwable any) {
            thrown = any;
            return 0;
        }
    }

    long show(MemorySegment context, int state, MemorySegment text, long capacity) {
        try {
            return write(states.get(state).toString(), text, capacity);
        } catch (Throwable any) {
            thrown = any;
            return 0;
        }
    }

    /** Throws what the model threw. */
    void rethrow() throws Throwable {
        if (thrown != null) {
            throw thrown;
        }
    }

    private int number(S state) {
        Integer known = numbers.get(state);
        if (known != null) {
            return known;
        }
        if (isComparedByIdentity(state.getClass())) {
            throw new IllegalArgumentException(state.getClass() + " has no equals: equal states would differ");
        }
        states.add(state);
        looks.add(look(state));
        numbers.put(state, states.size() - 1);
        return states.size() - 1;
    }

    /** A hash that shows changes in place: also those in the arrays of a record, which its own hash does not show. */
    private static int look(Object state) {
        int look = state.hashCode();
        if (state instanceof Record) {
            for (RecordComponent component : state.getClass().getRecordComponents()) {
                look = 31 * look + lookInside(value(component, state));
            }
        }
        return look;
    }

    private static int lookInside(Object part) {
        if (part instanceof Record) {
            return look(part);
        }
        return part != null && part.getClass().isArray() ? Arrays.deepHashCode(new Object[] {part}) : 0;
    }

    private static Object value(RecordComponent component, Object state) {
        try {
            component.getAccessor().setAccessible(true);
            return component.getAccessor().invoke(state);
        } catch (ReflectiveOperationException | InaccessibleObjectException hidden) {
            return null;
        }
    }

    private static boolean isComparedByIdentity(Class<?> type) {
        try {
            return type.getMethod("equals", Object.class).getDeclaringClass() == Object.class;
        } catch (NoSuchMethodException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static long write(String told, MemorySegment text, long capacity) {
        byte[] bytes = told.getBytes(StandardCharsets.UTF_8);
        if (bytes.length <= capacity) {
            MemorySegment.copy(bytes, 0, text.reinterpret(capacity), JAVA_BYTE, 0, bytes.length);
        }
        return bytes.length;
    }
}
