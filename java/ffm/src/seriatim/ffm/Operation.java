package seriatim.ffm;

/** An operation with its result: who called it, when, and when it returned, if it did. Times are not negative. */
public record Operation<O>(long process, long call, long ret, O operation) {
    /** The return of an operation that never returned: nobody knows whether it happened. */
    public static final long PENDING = -1;

    public Operation {
        if (call < 0 || ret < PENDING) {
            throw new IllegalArgumentException("times: expected none below 0, found " + call + " and " + ret);
        }
    }
}
