package realkafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// minJava is the Java release that a Kafka 4 broker needs.
const minJava = 17

// toolTimeout bounds a run of Maven or javac: it may have to fetch 50 MB.
const toolTimeout = 10 * time.Minute

// javaCommand is what starts a Java program with Kafka's classes.
type javaCommand struct {
	classPath string
	agent     string // "path=argument", empty for a stock broker
	optimise  bool   // let the JVM compile what is hot once more
}

// command starts class. The options make a small JVM that is up soon: a test
// broker lives for seconds, and the fully optimising compiler does not pay.
func (j javaCommand) command(class string, args ...string) *exec.Cmd {
	argv := []string{
		"-Xmx512m",
		"-XX:+UseSerialGC",
		"-XX:+ExitOnOutOfMemoryError",
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-cp", j.classPath,
	}
	if !j.optimise {
		argv = append(argv, "-XX:TieredStopAtLevel=1")
	}
	if j.agent != "" {
		argv = append(argv, "-javaagent:"+j.agent)
	}
	return exec.Command("java", append(append(argv, class), args...)...)
}

// prepare finds the tools, and makes sure that the jars are in the cache.
func prepare(window int32, optimise bool) (javaCommand, error) {
	if err := findTools(); err != nil {
		return javaCommand{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	jars, err := kafkaJars()
	if err != nil {
		return javaCommand{}, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	java := javaCommand{classPath: filepath.Join(jars, "*"), optimise: optimise}
	if window > 0 {
		jar, err := agentJar(java.classPath)
		if err != nil {
			return javaCommand{}, err
		}
		java.agent = jar + "=" + strconv.Itoa(int(window))
	}
	return java, nil
}

var versionPattern = regexp.MustCompile(`version "(\d+)`)

// findTools says what is missing, all of it at once.
var findTools = sync.OnceValue(func() error {
	if !supported {
		return errors.New("needs a Unix system")
	}
	var missing []error
	for _, tool := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, err)
		}
	}
	if missing != nil {
		return errors.Join(missing...)
	}
	out, err := exec.Command("java", "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("java -version: %w\n%s", err, out)
	}
	found := versionPattern.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("java -version says no version:\n%s", out)
	}
	if release, _ := strconv.Atoi(string(found[1])); release < minJava {
		return fmt.Errorf("java is of release %d, Kafka %s needs %d", release, KafkaVersion, minJava)
	}
	return nil
})

// runTool runs a program to its end and returns what it said if it failed.
func runTool(dir, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	// What the tool has started may hold its output open after it was killed.
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("not done after %v", toolTimeout)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, out)
	}
	return nil
}
