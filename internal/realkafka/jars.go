package realkafka

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
)

// Versions of what is fetched beside Kafka. Kafka logs through SLF4J's 1.7 API
// and brings no binding for it; the agent is written with Byte Buddy.
const (
	slf4jVersion     = "1.7.36"
	byteBuddyVersion = "1.18.17"
	// The default of older Mavens is from 2012.
	dependencyPlugin = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"
)

//go:embed pom.xml
var pom []byte

// kafkaJars returns a directory with the jars of a broker and of the agent.
func kafkaJars() (string, error) {
	name := fmt.Sprintf("jars-%s-%s-%s-%s", KafkaVersion, slf4jVersion, byteBuddyVersion, digest(pom))
	return cached(name, func(dir string) error {
		work, err := os.MkdirTemp("", "sluice-realkafka-maven-")
		if err != nil {
			return fmt.Errorf("realkafka: %w", err)
		}
		defer removeAll(work)
		if err := os.WriteFile(filepath.Join(work, "pom.xml"), pom, 0o644); err != nil {
			return fmt.Errorf("realkafka: %w", err)
		}
		err = runTool(work, "mvn", "--batch-mode", "--quiet",
			dependencyPlugin+":copy-dependencies",
			"-DoutputDirectory="+dir,
			"-Dkafka.version="+KafkaVersion,
			"-Dslf4j.version="+slf4jVersion,
			"-Dbytebuddy.version="+byteBuddyVersion)
		if err != nil {
			return fmt.Errorf("realkafka: fetch the jars of Kafka: %w", err)
		}
		return nil
	})
}
