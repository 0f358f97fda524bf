package conn

import (
	"reflect"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// A shape is the outline of a response: no meaning, only where strings, arrays and
// tags are, and what memory they become. Fixed fields of the same versions are added
// up.
type shape []field

type field struct {
	kind        fieldKind
	size        int // of fixed: its bytes. Of text and array: memory of a pointer to it, or of an element
	elem        shape
	known       map[uint64]shape
	from, until int16 // the versions that have the field: until is the first without it, 0 is none
}

type fieldKind uint8

const (
	fixed  fieldKind = iota
	text             // null or not
	blob             // bytes, which stay where they are
	array            // of elem
	tagged           // those in known have a shape, all others are unknown
)

func (f *field) in(version int16) bool {
	return version >= f.from && (f.until == 0 || version < f.until)
}

const (
	produceKey          = 0
	fetchKey            = 1
	listOffsetsKey      = 2
	metadataKey         = 3
	saslHandshakeKey    = 17
	initProducerIDKey   = 22
	offsetForEpochKey   = 23
	saslAuthenticateKey = 36
	describeProdKey     = 61
)

var (
	noTags  = field{kind: tagged}
	pointed = field{kind: text, size: 16}

	brokerShape = shape{{size: 4}, {kind: text}, {size: 4}, pointed, noTags}
)

// list is an array of elements that become T, in the versions that have it.
func list[T any](from int16, elem ...field) field {
	return field{kind: array, size: int(reflect.TypeFor[T]().Size()), elem: elem, from: from}
}

func words(from int16) field { return list[int32](from, field{size: 4}) }

// since is the field in a version and all above it.
func since(version int16, f field) field {
	f.from = version
	return f
}

// shapes has the responses that a producer asks for, and there are no others.
var shapes = map[int16]shape{
	produceKey: {
		list[kmsg.ProduceResponseTopic](0,
			field{kind: text, until: 13},
			field{size: 16, from: 13},
			list[kmsg.ProduceResponseTopicPartition](0,
				field{size: 4 + 2 + 8},
				field{size: 8, from: 2},
				field{size: 8, from: 5},
				list[kmsg.ProduceResponseTopicPartitionErrorRecord](8, field{size: 4}, pointed, noTags),
				since(8, pointed),
				field{kind: tagged, known: map[uint64]shape{0: {{size: 4 + 4}, noTags}}},
			),
			noTags,
		),
		{size: 4, from: 1},
		{kind: tagged, known: map[uint64]shape{0: {list[kmsg.ProduceResponseBroker](0, brokerShape...)}}},
	},
	fetchKey: {
		{size: 4, from: 1},
		{size: 2 + 4, from: 7},
		list[kmsg.FetchResponseTopic](0,
			field{kind: text, until: 13},
			field{size: 16, from: 13},
			list[kmsg.FetchResponseTopicPartition](0,
				field{size: 4 + 2 + 8},
				field{size: 8, from: 4},
				field{size: 8, from: 5},
				list[kmsg.FetchResponseTopicPartitionAbortedTransaction](4, field{size: 8 + 8}, noTags),
				field{size: 4, from: 11},
				field{kind: blob},
				field{kind: tagged, known: map[uint64]shape{
					0: {{size: 4 + 8}, noTags},
					1: {{size: 4 + 4}, noTags},
					2: {{size: 8 + 4}, noTags},
				}},
			),
			noTags,
		),
		{kind: tagged, known: map[uint64]shape{0: {list[kmsg.FetchResponseBroker](0, brokerShape...)}}},
	},
	listOffsetsKey: {
		{size: 4, from: 2},
		list[kmsg.ListOffsetsResponseTopic](0,
			field{kind: text},
			list[kmsg.ListOffsetsResponseTopicPartition](0,
				field{size: 4 + 2},
				field{kind: array, size: 8, elem: shape{{size: 8}}, until: 1},
				field{size: 8 + 8, from: 1},
				field{size: 4, from: 4},
				noTags,
			),
			noTags,
		),
		noTags,
	},
	metadataKey: {
		{size: 4, from: 3},
		list[kmsg.MetadataResponseBroker](0, field{size: 4}, field{kind: text}, field{size: 4}, since(1, pointed), noTags),
		since(2, pointed),
		{size: 4, from: 1},
		list[kmsg.MetadataResponseTopic](0,
			field{size: 2},
			pointed,
			field{size: 16, from: 10},
			field{size: 1, from: 1},
			list[kmsg.MetadataResponseTopicPartition](0,
				field{size: 2 + 4 + 4},
				field{size: 4, from: 7},
				words(0), words(0), words(5),
				noTags,
			),
			field{size: 4, from: 8},
			noTags,
		),
		{size: 4, from: 8, until: 11},
		{size: 2, from: 13},
		noTags,
	},
	apiVersionsKey: {
		{size: 2},
		list[kmsg.ApiVersionsResponseApiKey](0, field{size: 2 + 2 + 2}, noTags),
		{size: 4, from: 1},
		{kind: tagged, known: map[uint64]shape{
			0: {list[kmsg.ApiVersionsResponseSupportedFeature](0, field{kind: text}, field{size: 2 + 2}, noTags)},
			1: {{size: 8}},
			2: {list[kmsg.ApiVersionsResponseFinalizedFeature](0, field{kind: text}, field{size: 2 + 2}, noTags)},
			3: {{size: 1}},
		}},
	},
	offsetForEpochKey: {
		{size: 4, from: 2},
		list[kmsg.OffsetForLeaderEpochResponseTopic](0,
			field{kind: text},
			list[kmsg.OffsetForLeaderEpochResponseTopicPartition](0,
				field{size: 2 + 4},
				field{size: 4, from: 1},
				field{size: 8},
				noTags,
			),
			noTags,
		),
		noTags,
	},
	describeProdKey: {
		{size: 4},
		list[kmsg.DescribeProducersResponseTopic](0,
			field{kind: text},
			list[kmsg.DescribeProducersResponseTopicPartition](0,
				field{size: 4 + 2},
				pointed,
				list[kmsg.DescribeProducersResponseTopicPartitionActiveProducer](0, field{size: 8 + 4 + 4 + 8 + 4 + 8}, noTags),
				noTags,
			),
			noTags,
		),
		noTags,
	},
	initProducerIDKey:   {{size: 4 + 2 + 8 + 2}, noTags},
	saslHandshakeKey:    {{size: 2}, list[string](0, field{kind: text})},
	saslAuthenticateKey: {{size: 2}, pointed, {kind: blob}, {size: 8, from: 1}, noTags},
}
