/**
 * WELL-KNOWN LOCAL TEST KEYS. Everybody has them: whatever is sent to these addresses on a public network is
 * lost to the first program that looks. They exist only so that local chains are the same on every machine.
 */

/** Accounts 0 to 3 of the development mnemonic "test test ... junk" that anvil and hardhat start with. */
export const localEvmKeys = {
  /** Owner and minter of the token. */
  deployer: {
    address: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    privateKey: '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80',
  },
  facilitator: {
    address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    privateKey: '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d',
  },
  buyer: {
    address: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    privateKey: '0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a',
  },
  seller: { address: '0x90F79bf6EB2c4f870365E785982E1f101E93b906' },
} as const;

/** Ed25519 seeds of 32 equal bytes. */
export const localSolanaSeeds = {
  mintAuthority: new Uint8Array(32).fill(1),
  facilitator: new Uint8Array(32).fill(2),
  buyer: new Uint8Array(32).fill(3),
  seller: new Uint8Array(32).fill(4),
} as const;
