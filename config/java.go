package config

// javaProperties are names that a configuration of the Java client is likely to
// hold and that are no choice here. They are known, so that the user is told why,
// rather than offered the nearest other name.
var javaProperties = []property{
	{name: "acks", kind: fixed{[]string{"all", "-1"},
		"must be all: fewer acknowledgements cannot keep records from being lost"},
		doc: "accepted as all only"},
	{name: "enable.idempotence", kind: fixed{[]string{"true"},
		"must be true: without idempotence a resend would double records"},
		doc: "accepted as true only"},
	{name: "retries", kind: fixed{[]string{"2147483647"},
		"is not counted: delivery.timeout.ms bounds the attempts; take this property out"},
		doc: "accepted as the default of the Java client only, as delivery.timeout.ms bounds the attempts"},
	{name: "max.in.flight.requests.per.connection", kind: fixed{nil,
		"is no limit here, as deep pipelines keep their order: take it out, or cap batches with max.in.flight.batches.per.partition"},
		doc: "refused: see max.in.flight.batches.per.partition"},
	{name: "key.serializer", kind: serializer, doc: "refused: keys are bytes"},
	{name: "value.serializer", kind: serializer, doc: "refused: values are bytes"},
	{name: "transactional.id", kind: fixed{nil,
		"cannot be set, there are no transactions here: take it out"},
		doc: "refused: there are no transactions"},
	{name: "ssl.endpoint.identification.algorithm", kind: fixed{[]string{"https"},
		"must be https: without the check of host names anyone with a certificate can pose as a broker (the Go field TLS can do otherwise)"},
		doc: "accepted as https only"},
	{name: "ssl.truststore.type", kind: storeType, doc: "accepted as PEM only"},
	{name: "ssl.keystore.type", kind: storeType, doc: "accepted as PEM only"},
	{name: "ssl.truststore.password", hidden: true, kind: storePassword, doc: "refused: PEM files have none"},
	{name: "ssl.keystore.password", hidden: true, kind: storePassword, doc: "refused: PEM files have none"},
	{name: "ssl.key.password", hidden: true, kind: fixed{nil,
		"cannot be used: " + decryptHint}, doc: "refused: the private key must not be encrypted"},
	{name: "ssl.keystore.key", hidden: true, kind: inlineKeystore, doc: "refused: see ssl.keystore.location"},
	{name: "ssl.keystore.certificate.chain", hidden: true, kind: inlineKeystore, doc: "refused: see ssl.keystore.location"},
}

var (
	serializer = fixed{nil, "is not needed, keys and values are bytes: encode before Produce, and take this property out"}

	storeType = fixed{[]string{"PEM"}, "must be PEM: " + convertHint}

	storePassword = fixed{nil, "is not needed, PEM files have no password: take it out (a JKS or PKCS12 file has to become PEM first)"}

	inlineKeystore = fixed{nil, "cannot be given in the properties: put chain and key into one PEM file and name it in ssl.keystore.location"}
)

const (
	convertHint = "JKS and PKCS12 files have to be converted, with keytool -importkeystore -deststoretype PKCS12 and then openssl pkcs12 -nodes"

	decryptHint = "encrypted private keys cannot be read; decrypt the key with openssl pkey and guard the file by its permissions, or set the Go field TLS"
)
