import { address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit';

/** The program that keeps USDC. */
export const tokenProgram = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const associatedTokenProgram = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');

/** Returns the address of the one token account to which an owner's tokens of that mint are sent. */
export const findTokenAccount = async (of: { owner: string; mint: string }): Promise<string> => {
  const encoder = getAddressEncoder();
  const seeds = [address(of.owner), tokenProgram, address(of.mint)].map((seed) => encoder.encode(seed));
  const [account] = await getProgramDerivedAddress({ programAddress: associatedTokenProgram, seeds });
  return account;
};
