package realkafka

import (
	"os"
	"testing"
)

// The clusters of this package's tests.
var (
	stock  = &Shared{Config: Config{Nodes: 1}}
	taught = &Shared{Config: Config{Nodes: 1, SequenceWindow: 1000}}
)

func TestMain(m *testing.M) {
	code := m.Run()
	stock.Close()
	taught.Close()
	os.Exit(code)
}

func TestX(t *testing.T) {
	c := stock.Get(t)
	t.Log(c.Addrs())
	if err := c.CreateTopic("a", 3, 1, nil); err != nil {
		t.Fatal(err)
	}
	c = taught.Get(t)
	t.Log(c.Addrs())
	if err := c.CreateTopic("a", 3, 1, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(0); err != nil {
		t.Fatal(err)
	}
	if err := c.Pause(0); err != nil {
		t.Fatal(err)
	}
	t.Error(c.dir)
}
