package sluice.kip758;

import static net.bytebuddy.matcher.ElementMatchers.named;
import static net.bytebuddy.matcher.ElementMatchers.takesArguments;

import java.lang.instrument.Instrumentation;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import net.bytebuddy.agent.builder.AgentBuilder;
import net.bytebuddy.description.method.MethodDescription;
import net.bytebuddy.description.type.TypeDescription;
import net.bytebuddy.matcher.ElementMatcher;
import net.bytebuddy.utility.JavaModule;

/**
 * Teaches a stock Apache Kafka broker KIP-758: to remember the range of the
 * last W sequences of a producer instead of its last five batches, and to say
 * so. W is the argument of the agent.
 *
 * <p>A broker that could not be taught everything does not start. A newer Kafka
 * that has moved one of the methods is noticed that way, and not by a test that
 * silently talks to a stock broker.
 */
public final class Agent {
    private static int window;

    private Agent() {}

    /** The number of sequences that this broker remembers of each producer. */
    public static int window() {
        return window;
    }

    /** One method of Kafka's and the advice that is woven into it. */
    private record Lesson(String type, ElementMatcher<MethodDescription> method, String advice) {}

    // Advice classes are named, not referred to: to load one here would load the
    // Kafka classes in its signatures before they can be transformed.
    private static final List<Lesson> LESSONS = List.of(
            new Lesson(
                    "org.apache.kafka.storage.internals.log.ProducerAppendInfo",
                    named("checkSequence").and(takesArguments(short.class, int.class, long.class)),
                    "org.apache.kafka.storage.internals.log.SequenceAdvice"),
            new Lesson(
                    "org.apache.kafka.storage.internals.log.ProducerStateEntry",
                    named("findDuplicateBatch").and(takesArguments(1)),
                    "org.apache.kafka.storage.internals.log.LatestBatchAdvice"),
            new Lesson(
                    "org.apache.kafka.common.requests.AbstractResponse",
                    named("toSend").and(takesArguments(2)),
                    "sluice.kip758.WindowTagAdvice"));

    public static void premain(String argument, Instrumentation instrumentation) throws Exception {
        window = Integer.parseInt(argument);
        Set<String> taught = ConcurrentHashMap.newKeySet();
        Failures failures = new Failures();
        AgentBuilder builder = new AgentBuilder.Default()
                .with(AgentBuilder.TypeStrategy.Default.REDEFINE)
                .with(failures);
        for (Lesson lesson : LESSONS) {
            builder = builder.type(named(lesson.type())).transform(weave(lesson, taught));
        }
        builder.installOn(instrumentation);

        for (Lesson lesson : LESSONS) {
            Class.forName(lesson.type(), false, Agent.class.getClassLoader());
            if (!taught.contains(lesson.type())) {
                failures.add(lesson.type() + ": no such method, or loaded before the agent");
            }
        }
        if (!failures.isEmpty()) {
            throw new IllegalStateException("kip758: " + failures);
        }
        System.err.println("kip758: this broker remembers " + window + " sequences of a producer");
    }

    private static AgentBuilder.Transformer weave(Lesson lesson, Set<String> taught) {
        return new AgentBuilder.Transformer.ForAdvice()
                .include(Agent.class.getClassLoader())
                .advice(
                        (MethodDescription method) -> {
                            boolean found = lesson.method().matches(method);
                            if (found) {
                                taught.add(lesson.type());
                            }
                            return found;
                        },
                        lesson.advice());
    }

    /** Byte Buddy swallows what goes wrong in a transformation; this keeps it. */
    private static final class Failures extends AgentBuilder.Listener.Adapter {
        private final List<String> texts = new ArrayList<>();

        void add(String text) {
            texts.add(text);
        }

        boolean isEmpty() {
            return texts.isEmpty();
        }

        @Override
        public void onError(
                String type, ClassLoader loader, JavaModule module, boolean loaded, Throwable failure) {
            texts.add(type + ": " + failure);
        }

        @Override
        public String toString() {
            return texts.toString();
        }
    }
}
