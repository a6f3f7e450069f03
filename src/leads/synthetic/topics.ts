/** The subject of a profile: its category, words for it, and fitting emojis. */
export interface Topic {
  category: string;
  /** The most frequent word first. */
  words: readonly [string, ...string[]];
  /** Names for people of this topic, the most frequent first. */
  roles: readonly [string, ...string[]];
  emojis: readonly [string, ...string[]];
}

const listed = (text: string): [string, ...string[]] => {
  const [first = '', ...rest] = text.split(',').map((word) => word.trim());
  return [first, ...rest];
};

const topic = (category: string, words: string, roles: string, emojis: string): Topic => ({
  category,
  words: listed(words),
  roles: listed(roles),
  emojis: listed(emojis),
});

/** All topics, the most frequent first. */
export const listTopics = (): [Topic, ...Topic[]] => [
  topic(
    'Fashion',
    'style, fashion, outfits, streetwear, vintage, shoes, denim, thrift, capsule wardrobe, jewelry, sustainable',
    'Model, Stylist, Fashion blogger, Designer',
    '👗,👠,🧵,✨',
  ),
  topic(
    'Beauty',
    'makeup, skincare, beauty, hair, nails, glow, lashes, fragrance, spa, cruelty free, retinol',
    'Makeup artist, Beauty creator, Hairdresser, Nail artist',
    '💄,💅,🧖,✨',
  ),
  topic(
    'Fitness',
    'fitness, gym, workout, strength, yoga, running, pilates, mobility, crossfit, calisthenics, kettlebell',
    'Personal trainer, Fitness coach, Yoga teacher, Runner',
    '💪,🏋️,🧘,🔥',
  ),
  topic(
    'Food',
    'food, recipes, cooking, baking, vegan, coffee, dinner, street food, sourdough, noodles, fermenting',
    'Chef, Home cook, Baker, Food stylist',
    '🍝,🥐,🍳,☕',
  ),
  topic(
    'Travel',
    'travel, adventure, beaches, mountains, solo travel, backpacking, hotels, road trips, islands, trains, van life',
    'Travel blogger, Nomad, Tour guide, Travel writer',
    '✈️,🌍,🏝️,🏔️',
  ),
  topic(
    'Tech',
    'tech, software, gadgets, startups, coding, robots, phones, open source, cloud, machine learning, keyboards',
    'Founder, Developer, Tech reviewer, Engineer',
    '💻,🤖,📱,🚀',
  ),
  topic(
    'Music',
    'music, guitar, songs, piano, vinyl, jazz, studio, hip hop, techno, drums, festivals',
    'Singer, Producer, DJ, Songwriter',
    '🎧,🎸,🎹,🎤',
  ),
  topic(
    'Digital creator',
    'life, daily, vlog, stories, tips, community, mindset, reels, creativity, routines',
    'Creator, Storyteller, Vlogger, Host',
    '✨,🎬,📸,💡',
  ),
  topic(
    'Photography',
    'photography, portraits, light, film, landscapes, street, weddings, analog, darkroom, drones',
    'Photographer, Filmmaker, Photo editor, Visual artist',
    '📷,🎞️,🌅,📸',
  ),
  topic(
    'Art',
    'art, painting, drawing, illustration, ceramics, design, murals, watercolor, sculpture, printmaking',
    'Artist, Illustrator, Painter, Ceramicist',
    '🎨,🖌️,🏺,✏️',
  ),
  topic(
    'Gaming',
    'gaming, streams, esports, console, indie games, speedruns, retro, strategy, pixel art, cosplay',
    'Streamer, Gamer, Game developer, Caster',
    '🎮,🕹️,👾,🏆',
  ),
  topic(
    'Parenting',
    'family, kids, motherhood, parenting, toddlers, play, school, fatherhood, twins, bedtime',
    'Mom of two, Dad of three, Parent coach, Midwife',
    '👶,🧸,🏡,💛',
  ),
  topic(
    'Health',
    'health, wellness, nutrition, sleep, mental health, breathing, therapy, gut health, mindfulness, hydration',
    'Nutritionist, Nurse, Therapist, Health coach',
    '🌿,🥗,🧠,💚',
  ),
  topic(
    'Home & garden',
    'home, interior, garden, plants, decor, renovation, furniture, balcony, compost, tiny house',
    'Interior designer, Gardener, Florist, Carpenter',
    '🪴,🏡,🌷,🛋️',
  ),
  topic(
    'Sports',
    'football, training, basketball, cycling, tennis, swimming, surfing, climbing, marathon, rowing',
    'Athlete, Coach, Cyclist, Surfer',
    '⚽,🏀,🚴,🏄',
  ),
  topic(
    'Business',
    'business, marketing, money, entrepreneurship, sales, finance, branding, investing, ecommerce, real estate',
    'Entrepreneur, Marketer, Consultant, Investor',
    '📈,💼,💡,🏢',
  ),
  topic(
    'Pets',
    'dogs, cats, pets, puppies, rescue, horses, parrots, training, rabbits, aquarium',
    'Dog trainer, Cat person, Vet, Groomer',
    '🐶,🐱,🐴,🐾',
  ),
  topic(
    'Education',
    'learning, languages, science, teaching, history, maths, study, space, chemistry, grammar',
    'Teacher, Scientist, Tutor, Historian',
    '📚,🔬,🎓,🧪',
  ),
  topic(
    'Comedy',
    'comedy, memes, jokes, sketches, improv, parody, stand up, puns, satire',
    'Comedian, Writer, Actor, Cartoonist',
    '😂,🎭,🤡,🎤',
  ),
  topic(
    'Books',
    'books, reading, fiction, poetry, fantasy, libraries, reviews, essays, audiobooks',
    'Writer, Reader, Poet, Editor',
    '📖,📚,🖋️,☕',
  ),
  topic(
    'Cars & motorcycles',
    'cars, racing, motorcycles, drift, restoration, classics, garage, electric cars, rally',
    'Driver, Mechanic, Rider, Collector',
    '🏎️,🏍️,🔧,🏁',
  ),
  topic(
    'Outdoors',
    'hiking, nature, camping, wildlife, fishing, birds, forest, skiing, kayaking, foraging',
    'Hiker, Ranger, Guide, Climber',
    '🏕️,🌲,🦉,⛷️',
  ),
  topic(
    'Crafts & DIY',
    'diy, knitting, sewing, woodwork, crochet, paper, leather, embroidery, soap making',
    'Maker, Woodworker, Knitter, Tailor',
    '🧶,🪡,🪵,✂️',
  ),
  topic(
    'Dance',
    'dance, ballet, salsa, choreography, hip hop, tango, movement, breaking',
    'Dancer, Choreographer, Dance teacher, Performer',
    '💃,🕺,🩰,🎶',
  ),
];

/** Words for any topic, the most frequent first. */
export const listCommonWords = (): [string, ...string[]] =>
  listed(
    'love, life, official, daily, inspiration, creative, happy, free, local, simple, slow living, honest, curious, ' +
      'independent, family, dreams, sunshine, goals, journey, balance, positive vibes, minimalism, weekend, kindness, ' +
      'handmade, award winning, self taught, bilingual, introvert, early bird, night owl, optimist',
  );
