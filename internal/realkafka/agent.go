package realkafka

import (
	"archive/zip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// The agent's sources, all in one directory whatever their Java package.
//
//go:embed agent/*.java
var agentSources embed.FS

const agentManifest = "Manifest-Version: 1.0\r\nPremain-Class: sluice.kip758.Agent\r\n\r\n"

// agentJar returns the path of the agent that teaches a broker KIP-758,
// compiled from the embedded sources against the jars it will meet.
func agentJar(classPath string) (string, error) {
	sources, err := readAgentSources()
	if err != nil {
		return "", err
	}
	var all []byte
	for _, s := range sources {
		all = append(all, s.text...)
	}
	name := fmt.Sprintf("agent-%s-%s-%s", KafkaVersion, byteBuddyVersion, digest(all))
	dir, err := cached(name, func(dir string) error { return buildAgent(dir, classPath, sources) })
	return filepath.Join(dir, "agent.jar"), err
}

type source struct {
	name string
	text []byte
}

func readAgentSources() ([]source, error) {
	entries, err := agentSources.ReadDir("agent")
	if err != nil {
		return nil, fmt.Errorf("realkafka: %w", err)
	}
	var sources []source
	for _, e := range entries {
		text, err := agentSources.ReadFile("agent/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("realkafka: %w", err)
		}
		sources = append(sources, source{e.Name(), text})
	}
	return sources, nil
}

func buildAgent(dir, classPath string, sources []source) error {
	work, err := os.MkdirTemp("", "sluice-realkafka-javac-")
	if err != nil {
		return fmt.Errorf("realkafka: %w", err)
	}
	defer removeAll(work)
	classes := filepath.Join(work, "classes")
	args := []string{"--release", strconv.Itoa(minJava), "-proc:none", "-nowarn", "-cp", classPath, "-d", classes}
	for _, s := range sources {
		if err := os.WriteFile(filepath.Join(work, s.name), s.text, 0o644); err != nil {
			return fmt.Errorf("realkafka: %w", err)
		}
		args = append(args, s.name)
	}
	if err := runTool(work, "javac", args...); err != nil {
		return fmt.Errorf("realkafka: compile the agent: %w", err)
	}
	if err := writeJar(filepath.Join(dir, "agent.jar"), os.DirFS(classes)); err != nil {
		return fmt.Errorf("realkafka: write the agent: %w", err)
	}
	return nil
}

// writeJar packs classes with the manifest that makes the JVM take the jar for
// an agent.
func writeJar(path string, classes fs.FS) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	jar := zip.NewWriter(file)
	manifest, err := jar.Create("META-INF/MANIFEST.MF")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(manifest, agentManifest); err != nil {
		return err
	}
	if err := jar.AddFS(classes); err != nil {
		return err
	}
	return jar.Close()
}

// digest names content.
func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:6])
}
