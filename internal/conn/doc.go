// Package conn is one connection to one Kafka broker: dialling, TLS, learning
// what the broker speaks, logging in, and after that frames in and out.
//
// A Conn is used in one of two ways. The control loop calls Do, one request at
// a time. A data connection has one writer goroutine, which calls Write, and
// one reader goroutine, which calls ReadFrame and then Decode; it pipelines as
// deep as it likes. Abandon and Close may be called from anywhere at any time,
// and unblock both.
//
// Everything that a broker sends is bounded before memory is spent on it.
package conn
