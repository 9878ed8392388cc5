package worker

// gnark's library registers its hints when it is imported. Circuits of any program may use them.
import _ "github.com/consensys/gnark/std"
