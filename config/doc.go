// Package config holds the settings of a Sluice producer.
//
// A [Config] is one flat struct. [Default] fills it; from then on every value
// means what it says (Linger = 0 is no linger), and nothing is edited behind the
// caller's back: [Config.Validate] reports what is wrong, all of it at once, and
// changes nothing.
//
// Settings can also come from Java's .properties format, from a map, or from the
// environment ([Load], [Parse], [FromMap], [FromEnv]), under the names of the Java
// client, of librdkafka or of Spring, so that files load as they are found.
// [Properties] lists those names. Each is mapped to a field; or ignored, with a
// word in Config.Warnings, of which [Strict] makes an error; or refused, with the
// reason. What is about TLS, logins and the choice of partitions is never ignored.
// A name that no client has is an error, for a setting that is silently ignored is
// worse than none. [Config.Explain] says where each value comes from.
//
// Durations are whole milliseconds in properties, sizes are bytes. Spaces around
// a value are not part of it, except in sasl.password. Files are UTF-8; in a
// value, ${...} has no special meaning.
//
// Secrets are of type [Secret], which prints a mask. A Config can therefore be
// printed, logged with slog, or marshalled to JSON. Errors and warnings show no
// value that may be secret, and no line that may be a part of one. What a program
// puts into an unexported field of its own is out of reach: fmt calls no methods
// there, and prints the fields of a mechanism in Config.SASL.
package config
