package producer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/sluice-kafka/sluice/config"
	"github.com/sluice-kafka/sluice/producer"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
)

// ownLogin is a mechanism of the user's, with a secret in a field.
type ownLogin struct {
	sasl.Mechanism
	Password string
}

// Whatever prints a producer, a lane or a mark, prints a name and no login.
func TestProducerIsShownByItsName(t *testing.T) {
	const canary = "wonderland-canary"
	c := newCluster(t, topics(1))
	p := newProducer(t, c, func(cfg *config.Config) {
		cfg.ClientID = "till 7"
		cfg.SecurityProtocol, cfg.AllowPlaintextPasswords = config.ProtocolSASLPlaintext, true
		cfg.SASL = ownLogin{plain.Auth{User: "alice", Pass: canary}.AsMechanism(), canary}
	})
	l := p.Lane("t")
	holder := struct {
		P *producer.Producer
		L *producer.Lane
	}{p, l}
	for what, v := range map[string]any{"producer": p, "lane": l, "a struct that holds them": holder, "a slice": []any{p, l}, "nil": (*producer.Producer)(nil)} {
		shown := map[string]string{}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x", "%T"} {
			shown[verb] = fmt.Sprintf(verb, v)
		}
		if text, err := json.Marshal(v); err == nil {
			shown["json"] = string(text)
		}
		for name, handler := range map[string]func(*bytes.Buffer) slog.Handler{
			"slog text": func(b *bytes.Buffer) slog.Handler { return slog.NewTextHandler(b, nil) },
			"slog json": func(b *bytes.Buffer) slog.Handler { return slog.NewJSONHandler(b, nil) },
		} {
			var b bytes.Buffer
			slog.New(handler(&b)).Info("x", "v", v)
			shown[name] = b.String()
		}
		for how, text := range shown {
			if strings.Contains(text, canary) || strings.Contains(text, "alice") || len(text) > 300 {
				t.Errorf("%s as %s: %.300s", what, how, text)
			}
		}
	}
	if got := fmt.Sprintf("%+v, %v", p, l); got != `producer "till 7", lane of producer "till 7"` {
		t.Error(got)
	}
}
