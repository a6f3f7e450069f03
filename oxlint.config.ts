import { defineConfig } from 'oxlint';
import { ranks } from './ranks.ts';

const restrictImports = (folder: string, patterns: { regex: string; message: string }[]) => ({
  files: [`src/${folder}/**/*.ts`],
  rules: { 'eslint/no-restricted-imports': ['error', { patterns }] },
});

const rankPattern = (folder: string) => {
  const rank = ranks.findIndex((folders) => folders.includes(folder));
  const forbidden = ranks
    .slice(rank)
    .flat()
    .filter((other) => other !== folder);
  return {
    regex: `^(?:\\.\\./)+(?:${[...forbidden.map((other) => `${other}/`), 'main\\.ts$', 'cli\\.ts$'].join('|')})`,
    message: 'A file imports only from lower ranks or its own folder (ARCHITECTURE.md).',
  };
};

const rankRules = ranks.flat().map((folder) => restrictImports(folder, [rankPattern(folder)]));

/** These replace the rule of `payments` in two of its folders. */
const paymentRules = [
  restrictImports('payments/chains/core', [
    rankPattern('payments'),
    {
      regex: '^\\.\\./(?:\\.\\./)?[a-z]',
      message: 'payments/chains/core imports nothing of its siblings (ARCHITECTURE.md).',
    },
  ]),
  restrictImports('payments/wire', [
    rankPattern('payments'),
    {
      regex: '/(?:evm|solana|remote)/',
      message: 'payments/wire knows no family of networks (ARCHITECTURE.md).',
    },
  ]),
];

/** Every line counts. The limits hold for the program, not for its tests. */
const sizeRules = {
  'eslint/max-lines-per-function': ['error', { max: 80 }],
  'eslint/max-lines': ['error', { max: 400 }],
} as const;

// oxlint-disable-next-line import/no-default-export -- oxlint reads the default export.
export default defineConfig({
  plugins: ['eslint', 'typescript', 'unicorn', 'oxc', 'import', 'node', 'promise', 'vitest'],
  categories: { correctness: 'error', suspicious: 'error' },
  rules: {
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': 'error',
    'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    'typescript/no-explicit-any': 'error',
    'typescript/no-non-null-assertion': 'error',
    'typescript/await-thenable': 'error',
    'import/no-cycle': ['error', { ignoreTypes: false }],
    'import/no-default-export': 'error',
    'import/no-self-import': 'error',
    'import/no-unassigned-import': 'off',
    'node/no-process-env': 'error',
    'eslint/no-console': 'error',
    'eslint/eqeqeq': 'error',
    'eslint/no-var': 'error',
    'eslint/prefer-const': 'error',
    'eslint/no-empty': 'error',
    'eslint/no-await-in-loop': 'off',
    'unicorn/no-array-sort': 'off',
    'unicorn/no-array-reverse': 'off',
    'unicorn/no-useless-spread': 'off',
    'unicorn/consistent-function-scoping': 'off',
    'eslint/no-shadow': 'off',
    'eslint/no-underscore-dangle': 'off',
    'unicorn/require-post-message-target-origin': 'off',
    'vitest/require-mock-type-parameters': 'off',
    'import/no-named-as-default-member': 'off',
    'vitest/no-conditional-expect': 'off',
    'vitest/expect-expect': ['error', { assertFunctionNames: ['expect', 'fc.assert', 'expect*'] }],
    'promise/always-return': 'off',
    'typescript/no-unsafe-type-assertion': 'off',
    'typescript/unbound-method': 'off',
    'typescript/consistent-return': 'off',
    'eslint/no-unmodified-loop-condition': 'off',
  },
  overrides: [
    ...rankRules,
    { files: ['src/**/*.ts', 'console/**/*.{ts,tsx}'], rules: sizeRules },
    ...paymentRules,
    {
      files: [
        'src/main.ts',
        'src/cli.ts',
        'test/**/*.ts',
        'bench/**/*.ts',
        'scripts/**/*.ts',
        'vitest.config.ts',
      ],
      rules: { 'node/no-process-env': 'off', 'eslint/no-console': 'off' },
    },
    {
      files: ['test/**/*.ts', 'bench/**/*.ts', 'scripts/**/*.ts'],
      rules: { 'typescript/no-non-null-assertion': 'off' },
    },
  ],
  ignorePatterns: ['node_modules', '/build', 'data', 'coverage'],
});
