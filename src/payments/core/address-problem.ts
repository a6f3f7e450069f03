import { keccak_256 } from '@noble/hashes/sha3';
import { decodeBase58 } from '../solana/base58.ts';
import type { NetworkFamily } from './networks.ts';

/**
 * Why money must not be sent to `address`; null when nothing is wrong with it as far as it can tell by itself. An EVM
 * address in mixed case carries a checksum (EIP-55), which finds a mistyped character.
 */
export const addressProblem = (family: NetworkFamily, address: string): string | null => {
  switch (family) {
    case 'evm':
      return evmProblem(address);
    case 'solana':
      return decodeBase58(address)?.length === 32 ? null : 'is not 32 bytes in base58';
  }
};

const evmProblem = (address: string): string | null => {
  const digits = address.slice(2);
  if (/^0+$/.test(digits)) return 'is the zero address';
  const isOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase();
  return isOneCase || digits === withChecksum(digits)
    ? null
    : 'has a wrong checksum (EIP-55): a character is mistyped';
};

const withChecksum = (digits: string): string => {
  const lower = digits.toLowerCase();
  const hash = Buffer.from(keccak_256(Buffer.from(lower, 'latin1'))).toString('hex');
  return Array.from(lower)
    .map((digit, index) => (parseInt(hash.charAt(index), 16) >= 8 ? digit.toUpperCase() : digit))
    .join('');
};
