/** Every state that an x402 payment can be in; `PaymentState` says what each means. */
export const paymentStates = [
  'reserved',
  'verified',
  'produced',
  'broadcasting',
  'settled',
  'delivered',
  'rejected',
  'failed',
  'unknown',
] as const;
