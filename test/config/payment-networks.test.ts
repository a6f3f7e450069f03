import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { ConfigError } from '../../src/kit/errors.ts';
const yaml = (text: string): string => text;

const evmKey = `0x${'1'.repeat(64)}`;
const evmWallet = `0x${'1'.repeat(40)}`;
const cdp = 'https://api.cdp.coinbase.com/platform/v2/x402';
const facilitators = 'https://pay.example';

describe('the payment networks', () => {
  const bnb = 'eip155:97';
  const sepolia = 'eip155:11155111';

  it('may be several local EVM networks with one key, each with its own node', () => {
    const { networks } = readConfig(
      { X402_NETWORKS: `${bnb},${sepolia},eip155:84532`, X402_EVM_FACILITATOR_KEY: evmKey },
      yaml(`
x402:
  networks:
    ${bnb}: { rpc_url: "http://127.0.0.1:1/bnb" }
    ${sepolia}: { rpc_url: "http://127.0.0.1:1/sepolia", pay_to: "${evmWallet}" }
`),
    ).x402;
    expect(networks).toEqual([
      {
        network: bnb,
        payTo: null,
        asset: null,
        facilitator: { kind: 'local', rpcUrl: 'http://127.0.0.1:1/bnb', privateKey: evmKey },
      },
      {
        network: sepolia,
        payTo: evmWallet,
        asset: null,
        facilitator: { kind: 'local', rpcUrl: 'http://127.0.0.1:1/sepolia', privateKey: evmKey },
      },
      {
        network: 'eip155:84532',
        payTo: null,
        asset: null,
        facilitator: {
          kind: 'remote',
          endpoints: [{ url: 'https://x402.org/facilitator', cdpKey: null }],
          rpcUrl: null,
        },
      },
    ]);
  });

  it('take the one node of the environment where only one of them has none of its own', () => {
    const { networks } = readConfig(
      {
        X402_NETWORKS: `${bnb},${sepolia}`,
        X402_EVM_FACILITATOR_KEY: evmKey,
        X402_EVM_RPC_URL: 'http://127.0.0.1:1/any',
      },
      yaml(`x402: { networks: { "${bnb}": { rpc_url: "http://127.0.0.1:1/bnb" } } }`),
    ).x402;
    expect(
      networks.map(({ facilitator }) => (facilitator.kind === 'local' ? facilitator.rpcUrl : null)),
    ).toEqual(['http://127.0.0.1:1/bnb', 'http://127.0.0.1:1/any']);
  });

  it('may be settled elsewhere although there is a key, and the node is asked all the same', () => {
    const [first, second] = readConfig(
      { X402_NETWORKS: `${bnb},${sepolia}`, X402_EVM_FACILITATOR_KEY: evmKey },
      yaml(`
x402:
  networks:
    ${bnb}: { rpc_url: "http://127.0.0.1:1/bnb" }
    ${sepolia}: { rpc_url: "http://127.0.0.1:1/sepolia", facilitator: remote }
`),
    ).x402.networks;
    expect(first?.facilitator.kind).toBe('local');
    expect(second?.facilitator).toMatchObject({ kind: 'remote', rpcUrl: 'http://127.0.0.1:1/sepolia' });
  });

  it('may be paid with another token', () => {
    const token = `{ symbol: EURX, address: "${evmWallet}", decimals: 18, transfer: permit2 }`;
    const [network] = readConfig(
      { X402_NETWORKS: bnb },
      yaml(`x402: { networks: { "${bnb}": { asset: ${token} } } }`),
    ).x402.networks;
    expect(network?.asset).toEqual({
      symbol: 'EURX',
      address: evmWallet,
      decimals: 18,
      transfer: 'permit2',
      eip712: null,
    });
  });

  it('go to the facilitators in the order in which they are named, Coinbase’s with its key', () => {
    const [network] = readConfig(
      {
        X402_FACILITATOR_URL: `${facilitators}/, ${cdp}`,
        X402_CDP_API_KEY_ID: 'id',
        X402_CDP_API_KEY_SECRET: 'secret',
      },
      null,
    ).x402.networks;
    expect(network?.facilitator).toMatchObject({
      endpoints: [
        { url: facilitators, cdpKey: null },
        { url: cdp, cdpKey: { id: 'id', secret: 'secret' } },
      ],
    });
  });

  it('reads how long a settlement may take', () => {
    expect(readConfig({}, null).x402).toMatchObject({ settleMs: 30_000 });
    expect(readConfig({ X402_SETTLE_MS: '60000' }, null).x402).toMatchObject({ settleMs: 60_000 });
  });

  it('refuses to sell the same for test money as for money', () => {
    const wallet = { X402_EVM_PAY_TO: `0x${'ab'.repeat(20)}`, X402_FACILITATOR_URL: 'https://f.example' };
    expect(() => readConfig({ ...wallet, X402_NETWORKS: 'eip155:8453,eip155:84532' }, null)).toThrow(
      'X402_NETWORKS: names main and test networks',
    );
    expect(readConfig({ ...wallet, X402_NETWORKS: 'eip155:8453,eip155:1' }, null).x402.networks).toHaveLength(
      2,
    );
  });

  it('refuses a node whose address holds a user and a password, which no request would take', () => {
    const url = 'https://user:secret@rpc.example';
    const refusal = (): unknown => readConfig({ X402_EVM_RPC_URL: url }, null);
    expect(refusal).toThrow(/^X402_EVM_RPC_URL: must have no user and password/);
    expect(refusal).not.toThrow('secret');
  });

  it('leave the keys of refunds to the operator', () => {
    expect(readConfig({}, null).x402.refundKeys).toEqual({ evm: null, solana: null });
    const solana = '3'.repeat(88);
    const env = { X402_EVM_REFUND_KEY: evmKey, X402_SOLANA_REFUND_KEY: solana };
    expect(readConfig(env, null).x402.refundKeys).toEqual({ evm: evmKey, solana });
  });

  it.each([
    [
      { X402_NETWORKS: `${bnb},${sepolia}`, X402_EVM_RPC_URL: 'http://127.0.0.1:1' },
      '',
      /^X402_EVM_RPC_URL: cannot be the node of eip155:97 and eip155:11155111; set x402\.networks\.eip155:97\.rpc_url/,
    ],
    [{ X402_CDP_API_KEY_ID: 'id' }, '', /^X402_CDP_API_KEY_SECRET: must be set beside/],
    [{ X402_CDP_API_KEY_SECRET: 'topsecret' }, '', /^X402_CDP_API_KEY_ID: must be set beside/],
    [
      { X402_CDP_API_KEY_ID: 'id', X402_CDP_API_KEY_SECRET: 'topsecret' },
      '',
      /^X402_CDP_API_KEY_ID: goes with an X402_FACILITATOR_URL at/,
    ],
    [
      {
        X402_CDP_API_KEY_ID: 'id',
        X402_CDP_API_KEY_SECRET: 'topsecret',
        X402_FACILITATOR_URL: 'https://api.cdp.coinbase.com.evil.example',
      },
      '',
      /^X402_CDP_API_KEY_ID: goes with an X402_FACILITATOR_URL at/,
    ],
    [{ X402_FACILITATOR_URL: cdp }, '', /^X402_CDP_API_KEY_ID: must be set, with X402_CDP_API_KEY_SECRET/],
    [
      {
        X402_FACILITATOR_URL: cdp.replace('https', 'http'),
        X402_CDP_API_KEY_ID: 'id',
        X402_CDP_API_KEY_SECRET: 'topsecret',
      },
      '',
      /^X402_FACILITATOR_URL: api\.cdp\.coinbase\.com is reached by https/,
    ],
    [{ X402_FACILITATOR_URL: `${facilitators},` }, '', /^X402_FACILITATOR_URL: must be an http/],
    [{ X402_FACILITATOR_URL: `${facilitators},${facilitators}` }, '', /^X402_FACILITATOR_URL: names a facil/],
    [
      {},
      'x402: { networks: { "eip155:1": {} } }',
      /^causeway\.yaml: x402\.networks\.eip155:1: X402_NETWORKS does not name it$/,
    ],
    [
      { X402_NETWORKS: bnb },
      'x402: { networks: { "eip155:97": { rpc: "http://x" } } }',
      /^causeway\.yaml: x402\.networks\.eip155:97: Unrecognized key/,
    ],
    [
      { X402_NETWORKS: bnb },
      'x402: { networks: { "eip155:97": { facilitator: local } } }',
      /^X402_EVM_FACILITATOR_KEY: must be set for x402\.networks\.eip155:97\.facilitator: local$/,
    ],
    [
      { X402_NETWORKS: `${bnb},${sepolia}`, X402_EVM_FACILITATOR_KEY: evmKey },
      `x402: { networks: { "${bnb}": { rpc_url: "http://x" }, "${sepolia}": { facilitator: local } } }`,
      /^causeway\.yaml: x402\.networks\.eip155:11155111\.rpc_url: must be set/,
    ],
    [
      { X402_NETWORKS: bnb, X402_EVM_FACILITATOR_KEY: evmKey },
      'x402: { networks: { "eip155:97": { facilitator: remote } } }',
      /^X402_EVM_FACILITATOR_KEY: is used by no network/,
    ],
    [
      { X402_NETWORKS: bnb },
      `x402: { networks: { "eip155:97": { asset: { symbol: X, address: "${evmWallet}", decimals: 6 } } } }`,
      /^causeway\.yaml: x402\.networks\.eip155:97\.asset\.eip712: must be set/,
    ],
    [
      { X402_NETWORKS: bnb },
      `x402: { networks: { "eip155:97": { asset: { symbol: X, address: "${evmWallet}", decimals: 19, transfer: permit2 } } } }`,
      /^causeway\.yaml: x402\.networks\.eip155:97\.asset\.decimals: /,
    ],
  ])('%j with %j is one line that names the setting', (env, text, line) => {
    const read = () => readConfig(env, yaml(text));
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(line);
    try {
      read();
    } catch (error) {
      expect(String(error)).not.toMatch(/\n|topsecret/);
    }
  });
});
