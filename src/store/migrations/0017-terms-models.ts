/** Terms of accounts name the enabled SKUs `models`, as keys and requests do. No other member has a list in that place. */
export const termsModels = (): string[] => [
  `update accounts set terms = replace(terms, '"skus":[', '"models":[') where terms like '%"skus":[%'`,
];
