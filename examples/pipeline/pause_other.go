//go:build !unix

package main

import "os"

const canPause = false

func pause(*os.Process) error { return os.ErrInvalid }

func wake(*os.Process) error { return os.ErrInvalid }
