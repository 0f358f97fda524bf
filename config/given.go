package config

// Warning is about one property that is accepted, and has another effect here than
// with the client it is from, or none.
type Warning struct {
	// Property is the name as it was given.
	Property string
	// Problem says what is different.
	Problem string
	// Origin is where it was found, as in FieldError.
	Origin string
}

// String returns origin, property and problem on one line, without the value.
func (w Warning) String() string {
	s := plainName(w.Property) + ": " + w.Problem
	if w.Origin != "" {
		s = w.Origin + ": " + s
	}
	return s
}

// Strict makes errors of warnings, for those who want no doubt about what they
// configured. It takes what the functions of this package return:
//
//	cfg, err := config.Strict(config.Load("producer.properties"))
func Strict(c Config, err error) (Config, error) {
	if err != nil || len(c.Warnings) == 0 {
		return c, err
	}
	faults := make([]*FieldError, len(c.Warnings))
	for i, w := range c.Warnings {
		faults[i] = &FieldError{Property: w.Property, Problem: w.Problem, Origin: w.Origin}
	}
	return Config{}, join(faults)
}

// given is a property that set something.
type given struct {
	property string // whose field was set
	name     string // as it was given: that, or another name of it
	origin   string
	visible  string // the value, as it may be shown: Go code can have changed it since
}
