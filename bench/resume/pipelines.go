package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-kafka/sluice/internal/realkafka"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	pipelineModule     = "github.com/sluice-kafka/sluice/examples/pipeline"
	pipelinePartitions = 4
)

// contest is a real Kafka, an input, and pipelines that read it in turn.
type contest struct {
	o       options
	kafka   *realkafka.Cluster
	input   string
	ends    map[int32]int64 // of the input
	want    int             // records of output
	dir     string
	example string // the built examples/pipeline
	outputs int
}

// lap is one run of a pipeline through the whole input.
type lap struct {
	total  time.Duration // from the start of the process
	steady float64       // input records a second, from the first save to the last
	cpu    time.Duration // of the process
}

func comparePipelines(ctx context.Context, o options) (err error) {
	c := &contest{o: o, input: "sentences"}
	if c.dir, err = os.MkdirTemp("", "sluice-resume-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	c.example = filepath.Join(c.dir, "pipeline")
	if out, err := exec.Command("go", "build", "-o", c.example, pipelineModule).CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w: %s", pipelineModule, err, out)
	}
	if c.kafka, err = startKafka(o.nodes); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.kafka.Close()) }()
	if err := c.feed(ctx); err != nil {
		return err
	}
	printf("\npipelines, real Apache Kafka %s of %d node(s), %d sentences in %d partitions, %d words, median (least-most) of %d\n",
		realkafka.KafkaVersion, o.nodes, o.input, pipelinePartitions, c.want, o.rounds)
	return c.race(ctx)
}

// feed makes the input.
func (c *contest) feed(ctx context.Context) error {
	if err := c.kafka.CreateTopic(c.input, pipelinePartitions, int16(c.o.nodes), nil); err != nil {
		return err
	}
	p, err := newProducer(c.kafka.Addrs())
	if err != nil {
		return err
	}
	defer p.Abort()
	c.ends = map[int32]int64{}
	vocabulary := strings.Fields("the quick brown fox jumps over a lazy dog and nobody knows why it does so every single morning")
	for i := range c.o.input {
		partition := int32(i % pipelinePartitions)
		n := rand.IntN(9)
		sentence := make([]string, n)
		for j := range sentence {
			sentence[j] = vocabulary[rand.IntN(len(vocabulary))]
		}
		c.want += n
		c.ends[partition]++
		p.Produce(ctx, producer.Record{
			Topic: c.input, Partition: producer.On(partition), Value: []byte(strings.Join(sentence, " ")),
		}, nil)
	}
	return p.Close(ctx)
}

var contestants = []struct {
	name    string
	command func(c *contest, output string) *exec.Cmd
}{
	{"sluice, checkpoints", func(c *contest, output string) *exec.Cmd {
		return exec.Command(c.example, append(c.args(output), "-attached", "-state", filepath.Join(c.dir, output))...)
	}},
	{"kgo, transactions", func(c *contest, output string) *exec.Cmd {
		self, _ := os.Executable()
		return exec.Command(self, append([]string{"transact"}, c.args(output)...)...)
	}},
}

func (c *contest) args(output string) []string {
	return []string{"-brokers", strings.Join(c.kafka.Addrs(), ","), "-input", c.input, "-output", output, "-every", c.o.every.String()}
}

// race lets them run in turn, after a lap each that warms the brokers up.
func (c *contest) race(ctx context.Context) error {
	laps := make([][]lap, len(contestants))
	for round := range c.o.rounds + 1 {
		for i, one := range contestants {
			l, err := c.lap(ctx, one.command)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			if c.o.verbose {
				printf("  %s: %.2fs, %.0f/s, %.2fs CPU; %s\n", one.name, l.total.Seconds(), l.steady, l.cpu.Seconds(), load())
			}
			if round > 0 {
				laps[i] = append(laps[i], l)
			}
		}
	}
	var ratios []float64
	for i, one := range contestants {
		var steady []float64
		var total, cpu []time.Duration
		for _, l := range laps[i] {
			steady, total, cpu = append(steady, l.steady), append(total, l.total), append(cpu, l.cpu)
		}
		printf("%-20s %8.0f sentences/s, all in %s, CPU %.1f us/sentence\n", one.name, median(steady), spread(total),
			float64(median(cpu).Microseconds())/float64(c.o.input))
	}
	for round := range laps[0] {
		ratios = append(ratios, laps[0][round].steady/laps[1][round].steady)
	}
	printf("%.2f times as fast, median of the ratios of each round: %.2f\n", median(ratios), ratios)
	return nil
}

// lap runs a pipeline through the input, to a new topic, and counts what came.
func (c *contest) lap(ctx context.Context, command func(*contest, string) *exec.Cmd) (l lap, err error) {
	c.outputs++
	output := fmt.Sprintf("words-%d", c.outputs)
	if err := c.kafka.CreateTopic(output, pipelinePartitions, int16(c.o.nodes), nil); err != nil {
		return l, err
	}
	cmd := command(c, output)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return l, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return l, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return l, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	first, records, err := c.watch(stdout)
	ended := time.Now()
	err = errors.Join(err, stdin.Close(), cmd.Wait())
	if err != nil {
		return l, err
	}
	l.total, l.steady = ended.Sub(began), records/ended.Sub(first).Seconds()
	l.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return l, c.count(ctx, output)
}

// watch reads what a pipeline says of its saves, until all is saved. It returns
// when the first one of some records was, and how many records came after it.
func (c *contest) watch(stdout io.Reader) (first time.Time, after float64, err error) {
	saved := map[int32]int64{}
	sum := func(m map[int32]int64) (n int64) {
		for _, v := range m {
			n += v
		}
		return n
	}
	all := sum(c.ends)
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		var partition int32
		var offset int64
		if _, err := fmt.Sscanf(lines.Text(), "saved %d %d.", &partition, &offset); err != nil {
			return first, 0, fmt.Errorf("it said %q", lines.Text())
		}
		saved[partition] = offset
		if first.IsZero() && offset > 0 {
			first, after = time.Now(), float64(all-sum(saved))
		}
		if sum(saved) == all {
			go drain(stdout)
			return first, after, nil
		}
	}
	return first, 0, errors.Join(errors.New("it ended too early"), lines.Err())
}

// count reads the output as a reader would.
func (c *contest) count(ctx context.Context, output string) error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(c.kafka.Addrs()...), kgo.ConsumeTopics(output),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	n := 0
	for n < c.want {
		n += client.PollFetches(ctx).NumRecords()
		if ctx.Err() != nil {
			return fmt.Errorf("%d records in %s, not %d: %w", n, output, c.want, ctx.Err())
		}
	}
	if n > c.want {
		return fmt.Errorf("%d records in %s, not %d", n, output, c.want)
	}
	return nil
}
