package conn

// A shape is the outline of a response in its flexible versions: no meaning,
// only where strings, arrays and tags are. The fixed fields between them are
// added up.
type shape []field

type field struct {
	kind     fieldKind
	size     int // of fixed, in bytes
	elem     shape
	known    map[uint64]shape
	from, to int16 // versions that have the field; to 0 is all above from
}

type fieldKind uint8

const (
	fixed  fieldKind = iota
	text             // string or bytes, null or not
	array            // of elem
	tagged           // those in known have a shape, all others are unknown
)

func (f *field) in(version int16) bool {
	return version >= f.from && (f.to == 0 || version <= f.to)
}

const (
	produceKey          = 0
	metadataKey         = 3
	initProducerIDKey   = 22
	saslHandshakeKey    = 17
	saslAuthenticateKey = 36
	fetchKey            = 1
	describeProdKey     = 61
)

var (
	noTags = field{kind: tagged}
	words  = field{kind: array, elem: shape{{size: 4}}}

	brokerShape = shape{{size: 4}, {kind: text}, {size: 4}, {kind: text}, noTags}
)

// shapes has the responses that a producer asks for. Others have no tags that
// are counted.
var shapes = map[int16]shape{
	produceKey: {
		{kind: array, elem: shape{
			{kind: text, to: 12},
			{size: 16, from: 13},
			{kind: array, elem: shape{
				{size: 4 + 2 + 8 + 8 + 8},
				{kind: array, elem: shape{{size: 4}, {kind: text}, noTags}},
				{kind: text},
				{kind: tagged, known: map[uint64]shape{0: {{size: 4 + 4}, noTags}}},
			}},
			noTags,
		}},
		{size: 4},
		{kind: tagged, known: map[uint64]shape{0: {{kind: array, elem: brokerShape}}}},
	},
	metadataKey: {
		{size: 4},
		{kind: array, elem: brokerShape},
		{kind: text},
		{size: 4},
		{kind: array, elem: shape{
			{size: 2},
			{kind: text},
			{size: 16, from: 10},
			{size: 1},
			{kind: array, elem: shape{{size: 2 + 4 + 4 + 4}, words, words, words, noTags}},
			{size: 4},
			noTags,
		}},
		{size: 4, to: 10},
		{size: 2, from: 13},
		noTags,
	},
	apiVersionsKey: {
		{size: 2},
		{kind: array, elem: shape{{size: 2 + 2 + 2}, noTags}},
		{size: 4},
		{kind: tagged, known: map[uint64]shape{
			0: {{kind: array, elem: shape{{kind: text}, {size: 2 + 2}, noTags}}},
			1: {{size: 8}},
			2: {{kind: array, elem: shape{{kind: text}, {size: 2 + 2}, noTags}}},
			3: {{size: 1}},
		}},
	},
	describeProdKey: {
		{size: 4},
		{kind: array, elem: shape{
			{kind: text},
			{kind: array, elem: shape{
				{size: 4 + 2},
				{kind: text},
				{kind: array, elem: shape{{size: 8 + 4 + 4 + 8 + 4 + 8}, noTags}},
				noTags,
			}},
			noTags,
		}},
		noTags,
	},
	initProducerIDKey:   {{size: 4 + 2 + 8 + 2}, noTags},
	saslAuthenticateKey: {{size: 2}, {kind: text}, {kind: text}, {size: 8}, noTags},
}
