import {
  address,
  getAddressCodec,
  getAddressEncoder,
  getOptionCodec,
  getProgramDerivedAddress,
  getStructCodec,
  getU32Codec,
  getU64Codec,
  getU8Codec,
  type Address,
  type ReadonlyUint8Array,
} from '@solana/kit';

export const tokenProgram = address('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
const associatedTokenProgram = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');

/** An account that exists, apart from the types of any one version of kit: litesvm brings another one. */
export interface SolanaAccount {
  address: Address;
  /** The program that owns it. */
  programAddress: Address;
  lamports: bigint;
  data: ReadonlyUint8Array;
  executable: boolean;
}

/** Solana's COption: a tag of four bytes, and the value's room even when there is none. */
const optionalAddress = getOptionCodec(getAddressCodec(), { prefix: getU32Codec(), noneValue: 'zeroes' });
const optionalAmount = getOptionCodec(getU64Codec(), { prefix: getU32Codec(), noneValue: 'zeroes' });

/** The 82 bytes of a mint of the token program. */
export const mintCodec = getStructCodec([
  ['mintAuthority', optionalAddress],
  ['supply', getU64Codec()],
  ['decimals', getU8Codec()],
  ['isInitialized', getU8Codec()],
  ['freezeAuthority', optionalAddress],
]);

/** The 165 bytes of a token account. */
export const tokenAccountCodec = getStructCodec([
  ['mint', getAddressCodec()],
  ['owner', getAddressCodec()],
  ['amount', getU64Codec()],
  ['delegate', optionalAddress],
  ['state', getU8Codec()],
  ['rentExemptReserve', optionalAmount],
  ['delegatedAmount', getU64Codec()],
  ['closeAuthority', optionalAddress],
]);

/** The token account in that account, null where it is none. */
export const readTokenAccount = (account: SolanaAccount | null) =>
  account?.programAddress === tokenProgram && account.data.length === tokenAccountCodec.fixedSize
    ? tokenAccountCodec.decode(account.data)
    : null;

/** The mint in that account, null where it is none. */
export const readMint = (account: SolanaAccount | null) =>
  account?.programAddress === tokenProgram && account.data.length === mintCodec.fixedSize
    ? mintCodec.decode(account.data)
    : null;

export const initializedState = 1;

/** The address of the owner's one ordinary token account of that mint. */
export const associatedTokenAddress = async (options: {
  owner: Address;
  mint: Address;
}): Promise<Address> => {
  const encoder = getAddressEncoder();
  const [derived] = await getProgramDerivedAddress({
    programAddress: associatedTokenProgram,
    seeds: [encoder.encode(options.owner), encoder.encode(tokenProgram), encoder.encode(options.mint)],
  });
  return derived;
};
