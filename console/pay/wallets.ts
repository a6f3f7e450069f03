import { useEffect, useState } from 'preact/hooks';
import { ToldError } from '../api.ts';
import { fromBase64, toBase64, type Offer } from './terms.ts';

/** A wallet that has announced itself on the page. */
export interface Wallet {
  name: string;
  /** The namespace of CAIP-2 of the networks where its accounts are. */
  namespace: 'eip155' | 'solana';
  pays(offer: Pick<Offer, 'network'>): boolean;
  /** Asks for the account that pays, on the network of the offer. */
  connect(offer: Offer): Promise<Account>;
  /** Has the person sign a text that names the account. Absent: the wallet signs none. */
  signText?(toText: (address: string) => string): Promise<{ address: string; signature: unknown }>;
}

export interface Account {
  address: string;
  /** Has the person sign, and returns the payload of the proof. Nothing is sent to a chain. */
  sign(): Promise<object>;
}

/** Asks the gateway for a transfer that a wallet of Solana signs, in base64. */
export type Prepare = (asked: { network: string; amount: string; wallet: string }) => Promise<string>;

/** EIP-1193. */
interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
}

/** EIP-6963. */
type Announcement = CustomEvent<{ info: { uuid: string; name: string }; provider: Provider }>;

/** The part of the wallet standard that pays and signs in. */
interface StandardWallet {
  name: string;
  features: {
    'standard:connect'?: { connect(): Promise<{ accounts: readonly StandardAccount[] }> };
    'solana:signTransaction'?: {
      signTransaction(input: {
        account: StandardAccount;
        transaction: Uint8Array;
        chain: string;
      }): Promise<readonly { signedTransaction: Uint8Array }[]>;
    };
    'solana:signMessage'?: {
      signMessage(input: {
        account: StandardAccount;
        message: Uint8Array;
      }): Promise<readonly { signature: Uint8Array }[]>;
    };
  };
}

interface StandardAccount {
  address: string;
  chains: readonly string[];
}

/** Runs a step of a wallet, and says what it said if it refuses. */
const ask = async <Answer>(what: string, step: () => Promise<Answer>): Promise<Answer> => {
  try {
    return await step();
  } catch (error) {
    if (error instanceof ToldError) throw error;
    const { code, message } = error as { code?: unknown; message?: unknown };
    const said = typeof message === 'string' ? message.slice(0, 300) : 'it gave no reason';
    throw new ToldError(
      code === 4_001
        ? `You did not ${what} in the wallet. Nothing was paid.`
        : `The wallet did not ${what}: ${said}`,
    );
  }
};

const secondsNow = (): number => Math.floor(Date.now() / 1_000);

const toHex = (bytes: Uint8Array): string =>
  `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;

const fieldsOf = (text: string) =>
  text.split(', ').map((field) => {
    const [type, name] = field.split(' ');
    return { type, name };
  });

const types = {
  EIP712Domain: fieldsOf('string name, string version, uint256 chainId, address verifyingContract'),
  TransferWithAuthorization: fieldsOf(
    'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce',
  ),
};

/** A clock of the browser that is fast must not make the transfer one of the future. */
const clockToleranceSeconds = 600;

/** The transfer by ERC-3009, which costs its payer no gas. */
const toAuthorization = ({ payTo, amount, maxTimeoutSeconds }: Offer, from: string) => ({
  from,
  to: payTo,
  value: amount,
  validAfter: String(secondsNow() - clockToleranceSeconds),
  validBefore: String(secondsNow() + maxTimeoutSeconds),
  nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
});

const chainOf = ({ network }: Offer): number => Number(network.split(':')[1]);

const findAddress = async (provider: Provider): Promise<string> => {
  const addresses = await ask('connect', () => provider.request({ method: 'eth_requestAccounts' }));
  const address = Array.isArray(addresses) ? (addresses[0] as unknown) : undefined;
  if (typeof address === 'string') return address;
  throw new ToldError('The wallet gave no account. Unlock it, and try again.');
};

const evmWallet = (name: string, provider: Provider): Wallet => ({
  name,
  namespace: 'eip155',
  signText: async (toText) => {
    const address = await findAddress(provider);
    const params = [toHex(new TextEncoder().encode(toText(address))), address];
    const signature = await ask('sign', () => provider.request({ method: 'personal_sign', params }));
    return { address, signature };
  },
  pays: ({ network }) => network.startsWith('eip155:'),
  connect: async (offer) => {
    const address = await findAddress(provider);
    const chainId = chainOf(offer);
    await ask('change its network', () =>
      provider.request({
        method: 'wallet_switchEthereumChain',
        params: [{ chainId: `0x${chainId.toString(16)}` }],
      }),
    );
    return {
      address,
      sign: async () => {
        const authorization = toAuthorization(offer, address);
        const { name: token, version } = offer.extra;
        const domain = { name: token, version, chainId, verifyingContract: offer.asset };
        const data = { types, domain, primaryType: 'TransferWithAuthorization', message: authorization };
        const signature = await ask('sign', () =>
          provider.request({ method: 'eth_signTypedData_v4', params: [address, JSON.stringify(data)] }),
        );
        return { signature, authorization };
      },
    };
  },
});

/** The names of Solana's networks in the wallet standard. */
const solanaChains: Readonly<Record<string, string>> = {
  'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp': 'solana:mainnet',
  'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1': 'solana:devnet',
};

const connectSolana = async (
  { features }: StandardWallet,
  isWanted: (account: StandardAccount) => boolean,
): Promise<StandardAccount> => {
  const connected = await ask('connect', async () => features['standard:connect']?.connect());
  const accounts = connected?.accounts ?? [];
  const account = accounts.find(isWanted) ?? accounts[0];
  if (account === undefined) throw new ToldError('The wallet gave no account. Unlock it, and try again.');
  return account;
};

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

const toBase58 = (bytes: Uint8Array): string => {
  let text = '';
  let rest = BigInt(toHex(bytes));
  for (; rest > 0n; rest /= 58n) text = base58.charAt(Number(rest % 58n)) + text;
  const zeros = bytes.findIndex((byte) => byte !== 0);
  return '1'.repeat(Math.max(0, zeros)) + text;
};

const solanaWallet = (wallet: StandardWallet, prepare: Prepare | null): Wallet => {
  const {
    name,
    features: { 'solana:signTransaction': paying, 'solana:signMessage': signingIn },
  } = wallet;
  return {
    name,
    namespace: 'solana',
    pays: ({ network }) => solanaChains[network] !== undefined && paying !== undefined && prepare !== null,
    connect: async ({ network, amount }) => {
      const chain = solanaChains[network];
      if (prepare === null || paying === undefined || chain === undefined)
        throw new ToldError('This wallet signs no transactions of this network.');
      const account = await connectSolana(wallet, ({ chains }) => chains.includes(chain));
      return {
        address: account.address,
        sign: async () => {
          const transaction = fromBase64(await prepare({ network, amount, wallet: account.address }));
          const [first] = await ask('sign', () => paying.signTransaction({ account, transaction, chain }));
          if (first === undefined) throw new ToldError('The wallet returned no transaction.');
          return { transaction: toBase64(first.signedTransaction) };
        },
      };
    },
    ...(signingIn && {
      signText: async (toText) => {
        const account = await connectSolana(wallet, () => true);
        const message = new TextEncoder().encode(toText(account.address));
        const [first] = await ask('sign', () => signingIn.signMessage({ account, message }));
        if (first === undefined) throw new ToldError('The wallet returned no signature.');
        return { address: account.address, signature: toBase58(first.signature) };
      },
    }),
  };
};

/**
 * Finds the wallets of this browser: by EIP-6963, by `window.ethereum` where none announces itself, and by the wallet standard.
 * Those of Solana pay only with `prepare`.
 */
export const useWallets = (prepare: Prepare | null): readonly Wallet[] => {
  const [found, setFound] = useState<ReadonlyMap<string, Wallet>>(new Map());
  useEffect(() => {
    const add = (key: string, wallet: Wallet): void =>
      setFound((before) => (before.has(key) ? before : new Map(before).set(key, wallet)));
    const onAnnounce = (event: Event): void => {
      const { info, provider } = (event as Announcement).detail;
      add(info.uuid, evmWallet(info.name, provider));
    };
    const api = {
      register: (...wallets: readonly StandardWallet[]) => {
        for (const wallet of wallets)
          if ('solana:signTransaction' in wallet.features || 'solana:signMessage' in wallet.features)
            add(wallet.name, solanaWallet(wallet, prepare));
        return () => undefined;
      },
    };
    const onRegister = (event: Event): void => (event as CustomEvent<(own: typeof api) => void>).detail(api);
    addEventListener('eip6963:announceProvider', onAnnounce);
    addEventListener('wallet-standard:register-wallet', onRegister);
    dispatchEvent(new Event('eip6963:requestProvider'));
    dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));
    return () => {
      removeEventListener('eip6963:announceProvider', onAnnounce);
      removeEventListener('wallet-standard:register-wallet', onRegister);
    };
  }, [prepare]);
  const { ethereum } = globalThis as { ethereum?: Provider };
  const wallets = [...found.values()];
  const isAnnounced = wallets.some(({ namespace }) => namespace === 'eip155');
  return ethereum === undefined || isAnnounced ? wallets : [...wallets, evmWallet('Wallet', ethereum)];
};
