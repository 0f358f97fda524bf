package producer

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

func (f *checkpointForm) json() ([]byte, error) {
	f.CRC32C = f.sum()
	return json.Marshal(f)
}

// sum is the checksum of the binary form, so that it holds for the values and
// not for the way in which they are written.
func (f *checkpointForm) sum() string {
	b := f.binary()
	return fmt.Sprintf("%x", b[len(b)-formTail:])
}

// parseJSON reads the form; its values are not checked yet.
func parseJSON(data []byte) (*checkpointForm, error) {
	var v struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, badCheckpoint("it is not the JSON of one: %w", err)
	}
	if v.Version == nil {
		return nil, badCheckpoint("it is not the JSON of one: it has no version")
	}
	if !readableVersion(*v.Version) {
		return nil, badVersion(*v.Version)
	}
	f := &checkpointForm{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(f); err != nil {
		return nil, badCheckpoint("it is not the JSON of one: %w", err)
	}
	f.Taken = f.Taken.UTC()
	if f.CRC32C != f.sum() {
		return nil, badCheckpoint("the checksum is wrong")
	}
	return f, nil
}

// formTopicID is a topic ID, in JSON as Kafka's own tools print it.
type formTopicID [16]byte

var topicIDText = base64.RawURLEncoding.Strict()

func (id formTopicID) MarshalText() ([]byte, error) { return topicIDText.AppendEncode(nil, id[:]), nil }

func (id *formTopicID) UnmarshalText(text []byte) error {
	b, err := topicIDText.DecodeString(string(text))
	if err != nil || len(b) != len(id) {
		return errors.New("that is no topic id")
	}
	copy(id[:], b)
	return nil
}
