package org.apache.kafka.storage.internals.log;

import java.util.Optional;
import net.bytebuddy.asm.Advice;

/**
 * In ProducerStateEntry.findDuplicateBatch: only the latest batch is recognised
 * with its offset. KIP-758 keeps no list of the batches before it.
 */
public final class LatestBatchAdvice {
    private LatestBatchAdvice() {}

    @Advice.OnMethodExit
    static void exit(
            @Advice.This ProducerStateEntry entry,
            @Advice.Return(readOnly = false) Optional<BatchMetadata> found) {
        if (found.isPresent() && found.get().lastSeq() != entry.lastSeq()) {
            found = Optional.empty();
        }
    }
}
