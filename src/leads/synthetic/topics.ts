/** Two lines a topic: its category and words, then its roles and emojis. The most frequent topic first. */
const table = `
Fashion: style, fashion, outfits, streetwear, vintage, shoes, denim, thrift, capsule wardrobe, jewelry, sustainable
  Model, Stylist, Fashion blogger, Designer: 👗, 👠, 🧵, ✨
Beauty: makeup, skincare, beauty, hair, nails, glow, lashes, fragrance, spa, cruelty free, retinol
  Makeup artist, Beauty creator, Hairdresser, Nail artist: 💄, 💅, 🧖, ✨
Fitness: fitness, gym, workout, strength, yoga, running, pilates, mobility, crossfit, calisthenics, kettlebell
  Personal trainer, Fitness coach, Yoga teacher, Runner: 💪, 🏋️, 🧘, 🔥
Food: food, recipes, cooking, baking, vegan, coffee, dinner, street food, sourdough, noodles, fermenting
  Chef, Home cook, Baker, Food stylist: 🍝, 🥐, 🍳, ☕
Travel: travel, adventure, beaches, mountains, solo travel, backpacking, hotels, road trips, islands, trains, van life
  Travel blogger, Nomad, Tour guide, Travel writer: ✈️, 🌍, 🏝️, 🏔️
Tech: tech, software, gadgets, startups, coding, robots, phones, open source, cloud, machine learning, keyboards
  Founder, Developer, Tech reviewer, Engineer: 💻, 🤖, 📱, 🚀
Music: music, guitar, songs, piano, vinyl, jazz, studio, hip hop, techno, drums, festivals
  Singer, Producer, DJ, Songwriter: 🎧, 🎸, 🎹, 🎤
Digital creator: life, daily, vlog, stories, tips, community, mindset, reels, creativity, routines
  Creator, Storyteller, Vlogger, Host: ✨, 🎬, 📸, 💡
Photography: photography, portraits, light, film, landscapes, street, weddings, analog, darkroom, drones
  Photographer, Filmmaker, Photo editor, Visual artist: 📷, 🎞️, 🌅, 📸
Art: art, painting, drawing, illustration, ceramics, design, murals, watercolor, sculpture, printmaking
  Artist, Illustrator, Painter, Ceramicist: 🎨, 🖌️, 🏺, ✏️
Gaming: gaming, streams, esports, console, indie games, speedruns, retro, strategy, pixel art, cosplay
  Streamer, Gamer, Game developer, Caster: 🎮, 🕹️, 👾, 🏆
Parenting: family, kids, motherhood, parenting, toddlers, play, school, fatherhood, twins, bedtime
  Mom of two, Dad of three, Parent coach, Midwife: 👶, 🧸, 🏡, 💛
Health: health, wellness, nutrition, sleep, mental health, breathing, therapy, gut health, mindfulness, hydration
  Nutritionist, Nurse, Therapist, Health coach: 🌿, 🥗, 🧠, 💚
Home & garden: home, interior, garden, plants, decor, renovation, furniture, balcony, compost, tiny house
  Interior designer, Gardener, Florist, Carpenter: 🪴, 🏡, 🌷, 🛋️
Sports: football, training, basketball, cycling, tennis, swimming, surfing, climbing, marathon, rowing
  Athlete, Coach, Cyclist, Surfer: ⚽, 🏀, 🚴, 🏄
Business: business, marketing, money, entrepreneurship, sales, finance, branding, investing, ecommerce, real estate
  Entrepreneur, Marketer, Consultant, Investor: 📈, 💼, 💡, 🏢
Pets: dogs, cats, pets, puppies, rescue, horses, parrots, training, rabbits, aquarium
  Dog trainer, Cat person, Vet, Groomer: 🐶, 🐱, 🐴, 🐾`;

export const splitList = (text: string): [string, ...string[]] => {
  const [first = '', ...rest] = text.split(',').map((item) => item.trim());
  return [first, ...rest];
};

export const listTopics = (): [Topic, ...Topic[]] => {
  const [first = '', ...rest] = table.trim().split(/\n(?! )/);
  return [readTopic(first), ...rest.map(readTopic)];
};

/** The subject of a profile. Of its words, and of its names for people, the most frequent ones are first. */
export type Topic = ReturnType<typeof readTopic>;

const readTopic = (lines: string) => {
  const [category = '', words = '', roles = '', emojis = ''] = lines.split(/[:\n]/);
  return { category, words: splitList(words), roles: splitList(roles), emojis: splitList(emojis) };
};
