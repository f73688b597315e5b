module peers

go 1.22

require golang.org/x/time v0.9.0
