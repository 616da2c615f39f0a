package seriatim.ffm;

import java.util.List;

/**
 * A sequential object of your own. Its states are compared by {@code equals}: records and the collections of
 * {@code List.of} are good ones. A step leaves the state that it is given as it is, and depends on nothing else.
 */
public interface Model<S, O> {
    /** The state before the first operation. */
    S initial();

    /** The states after an operation, which includes its result, in a state; none if it is impossible there. */
    List<S> step(S state, O operation);

    /** An operation as a person reads it: {@code dequeue() -> 7}. */
    default String describe(O operation) {
        return operation.toString();
    }
}
