/**
 * The contracts that carry out Permit2 payments, at the same address on every chain: Uniswap's Permit2, which takes
 * each nonce of an owner once, and x402's proxy, which pays nobody but the recipient that the buyer signed.
 */
export const permit2Contracts = {
  permit2: '0x000000000022D473030F116dDEE9F6B43aC78BA3',
  proxy: '0x402085c248EeA27D92E8b30b2C58ed07f9E20001',
} as const;
