pragma circom 2.0.0;

// Two secret factors of 35: no signal is public.
template Factors() {
    signal input a;
    signal input b;
    a * b === 35;
}

component main = Factors();
