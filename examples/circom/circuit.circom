pragma circom 2.0.0;

// y = x^3 + x + shift, of an x that stays secret.
template Cubic() {
    signal input x;
    signal input shift;
    signal output y;

    signal square <== x * x;
    signal cube <== square * x;
    y <== cube + x + shift;
}

component main {public [shift]} = Cubic();
