package org.apache.kafka.storage.internals.log;

import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.errors.DuplicateSequenceException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import sluice.kip758.Agent;

/**
 * In ProducerAppendInfo.checkSequence: a batch that was to be refused as out of
 * order is a duplicate if it begins within the window behind the last sequence.
 * Only where it begins counts, so says KIP-758; its end is not looked at.
 *
 * <p>Lives in Kafka's package since the accessors of an entry are package-private.
 */
public final class SequenceAdvice {
    private SequenceAdvice() {}

    @Advice.OnMethodExit(onThrowable = OutOfOrderSequenceException.class)
    static void exit(
            @Advice.Argument(0) short epoch,
            @Advice.Argument(1) int firstSequence,
            @Advice.FieldValue("updatedEntry") ProducerStateEntry updated,
            @Advice.FieldValue("currentEntry") ProducerStateEntry current,
            @Advice.Thrown(readOnly = false) Throwable thrown) {
        // updatedEntry is what this very append has added so far: empty at first.
        ProducerStateEntry entry = updated.isEmpty() ? current : updated;
        if (thrown != null
                && !entry.isEmpty()
                && entry.producerEpoch() == epoch
                && ((entry.lastSeq() - firstSequence) & Integer.MAX_VALUE) < Agent.window()) {
            thrown = new DuplicateSequenceException(
                    "first sequence " + firstSequence + ", appended up to " + entry.lastSeq());
        }
    }
}
