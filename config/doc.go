// Package config holds the settings of a Sluice producer.
//
// A [Config] is one flat struct. [Default] fills it; from then on every value
// means what it says (Linger = 0 is no linger), and nothing is edited behind the
// caller's back: [Config.Validate] reports what is wrong, all of it at once, and
// changes nothing.
//
// Settings can also come from Java's .properties format or from a map, under the
// names that Kafka's own clients use ([Load], [Parse], [FromMap]). [Properties]
// lists those names with their defaults. A name that is not in the list is an
// error, for a setting that is silently ignored is worse than none. Some names
// of the Java client are known only to say why they are not needed here (acks,
// retries, key.serializer and others).
//
// Durations are whole milliseconds in properties, sizes are bytes. Spaces around
// a value are not part of it, except in sasl.password. Files are UTF-8; in a
// value, ${...} has no special meaning.
//
// Secrets are of type [Secret], which prints a mask. A Config can therefore be
// printed, logged with slog, or marshalled to JSON.
package config
