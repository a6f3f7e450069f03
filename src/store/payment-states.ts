/** All states of an x402 payment; `PaymentState` explains them. */
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
