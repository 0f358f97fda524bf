package producertest

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// scramIterations is the least that RFC 7677 allows: tests should be quick.
const scramIterations = 4096

// scramServer is the server's side of one SCRAM-SHA-256 exchange (RFC 5802),
// without channel binding.
type scramServer struct {
	users  map[string]string
	key    []byte // salted password; nil before the first message
	nonce  string
	header string // gs2 header of the client
	first  string // both first messages, without the gs2 header
}

func newSCRAMServer(users map[string]string) *scramServer {
	return &scramServer{users: users}
}

// next takes a message of the client and returns the answer. done says that the
// exchange is over, ok that it has not failed.
func (s *scramServer) next(msg []byte) (answer []byte, done, ok bool) {
	if s.key == nil {
		answer, ok = s.begin(string(msg))
		return answer, false, ok
	}
	answer, ok = s.finish(string(msg))
	return answer, ok, ok
}

// begin takes the client-first-message.
func (s *scramServer) begin(msg string) ([]byte, bool) {
	parts := strings.SplitN(msg, ",", 3)
	if len(parts) != 3 || parts[0] != "n" && parts[0] != "y" {
		return nil, false
	}
	s.header = parts[0] + "," + parts[1] + ","
	attrs := scramAttributes(parts[2])
	name := strings.NewReplacer("=2C", ",", "=3D", "=").Replace(attrs['n'])
	password, known := s.users[name]
	if !known || attrs['r'] == "" {
		return nil, false
	}
	salt := []byte(rand.Text())
	var err error
	if s.key, err = pbkdf2.Key(sha256.New, password, salt, scramIterations, sha256.Size); err != nil {
		return nil, false
	}
	s.nonce = attrs['r'] + rand.Text()
	answer := fmt.Sprintf("r=%s,s=%s,i=%d", s.nonce, base64.StdEncoding.EncodeToString(salt), scramIterations)
	s.first = parts[2] + "," + answer
	return []byte(answer), true
}

// finish takes the client-final-message.
func (s *scramServer) finish(msg string) ([]byte, bool) {
	at := strings.LastIndex(msg, ",p=")
	if at < 0 {
		return nil, false
	}
	attrs := scramAttributes(msg[:at])
	proof, err := base64.StdEncoding.DecodeString(msg[at+3:])
	binding := base64.StdEncoding.EncodeToString([]byte(s.header))
	if err != nil || len(proof) != sha256.Size || attrs['r'] != s.nonce || attrs['c'] != binding {
		return nil, false
	}
	signed := s.first + "," + msg[:at]
	clientKey := mac(s.key, "Client Key")
	storedKey := sha256.Sum256(clientKey)
	signature := mac(storedKey[:], signed)
	for i := range proof {
		proof[i] ^= signature[i]
	}
	if !hmac.Equal(proof, clientKey) {
		return nil, false
	}
	verifier := mac(mac(s.key, "Server Key"), signed)
	return []byte("v=" + base64.StdEncoding.EncodeToString(verifier)), true
}

// scramAttributes reads "a=x,b=y".
func scramAttributes(s string) map[byte]string {
	attrs := make(map[byte]string)
	for a := range strings.SplitSeq(s, ",") {
		if len(a) >= 2 && a[1] == '=' {
			attrs[a[0]] = a[2:]
		}
	}
	return attrs
}

func mac(key []byte, text string) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return m.Sum(nil)
}
