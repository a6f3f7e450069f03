/** What a process writes down in the course of a payment, whatever the chain. */
export const writes = [
  'reservePayment',
  'verifyPayment',
  'advancePayment to produced',
  'advancePayment to broadcasting',
  'advancePayment to settled',
  'advancePayment to delivered',
] as const;

export const isWrite = (step: string): boolean =>
  /(?:reserve|verify|advance)Payment|openWalletAccount/.test(step);

/** The steps around what a settlement writes down and asks of a remote facilitator. */
export const isSettlement = (step: string): boolean =>
  /(?:produced|broadcasting|settled|delivered|\/settle)$/.test(step);

/** Repeated questions for a receipt come as often as the chain lets wait, so they are no step to rely on. */
export const isRepeatedPoll = (step: string): boolean => /(?:Receipt|Statuses) \d+$/.test(step);
