// Package e2e holds the tests that run the producer against a real Apache
// Kafka, through a proxy that breaks connections, and read everything back with
// an independent consumer. They need Java and Maven; see internal/realkafka.
package e2e
