package sluice.kip758;

import java.nio.ByteBuffer;
import java.util.List;
import net.bytebuddy.asm.Advice;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ApiVersionsResponse;
import org.apache.kafka.common.requests.InitProducerIdResponse;

/**
 * In AbstractResponse.toSend: names the window to the client, as an INT32 in
 * tagged field 758 of ApiVersionsResponse and InitProducerIdResponse.
 *
 * <p>Done where a response is written because only there its version is known:
 * a version without tagged fields refuses to be written with one.
 */
public final class WindowTagAdvice {
    private static final int TAG = 758;

    private WindowTagAdvice() {}

    @Advice.OnMethodEnter
    static void enter(@Advice.This AbstractResponse response, @Advice.Argument(1) short version) {
        add(response, version);
    }

    /** Adds the tag to the two responses that carry it. Called by the woven code. */
    public static void add(AbstractResponse response, short version) {
        if (response instanceof ApiVersionsResponse versions && version >= 3) {
            tag(versions.data().unknownTaggedFields());
        } else if (response instanceof InitProducerIdResponse producerId && version >= 2) {
            tag(producerId.data().unknownTaggedFields());
        }
    }

    private static void tag(List<RawTaggedField> tags) {
        byte[] window = ByteBuffer.allocate(Integer.BYTES).putInt(Agent.window()).array();
        tags.add(new RawTaggedField(TAG, window));
    }
}
